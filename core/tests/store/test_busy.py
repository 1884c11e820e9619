"""A store that another process writes to for long."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from pegboard.contracts.errors import StoreError
from pegboard.store.database import Database
from pegboard.store.embedded import open_store
from pegboard.store.lock_holder import holder_of
from pegboard.store.sqlite import FILE_NAME

pytestmark = pytest.mark.anyio
HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="/proc/locks is Linux's")


@contextmanager
def held(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Let another process hold the write lock; it lets go when its input is closed."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder / FILE_NAME)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


@pytest.fixture
async def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("pegboard.store.sqlite.BUSY_S", 0.1)
    await (await open_store(tmp_path)).aclose()
    return tmp_path


async def test_a_host_that_opens_a_busy_store_waits_and_says_for_whom(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with held(folder) as process, anyio.fail_after(30):
        database = Database(folder)
        opened = anyio.Event()

        async def open_it() -> None:
            await database.open()
            opened.set()

        async with anyio.create_task_group() as group:
            group.start_soon(open_it)
            while not caplog.records:
                await anyio.sleep(0.01)
            assert not opened.is_set()
            assert process.stdin is not None
            process.stdin.close()
        await database.aclose()
    (record,) = caplog.records
    assert "the store is busy" in record.message
    if sys.platform == "linux":
        assert f"process {process.pid} (" in record.message


@LINUX
async def test_after_that_it_says_who_holds_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pegboard.store.writer.OPEN_BUSY_S", 0.3)
    with held(folder) as process:
        with pytest.raises(StoreError, match=f"busy: process {process.pid} ") as raised:
            await open_store(folder)
        assert "fuser" in (raised.value.fix or "")
    await (await open_store(folder)).aclose()


@LINUX
async def test_nobody_holds_a_store_that_nobody_writes_to(folder: Path) -> None:
    assert holder_of(folder / FILE_NAME) == ""
    assert holder_of(folder / "missing") == ""
