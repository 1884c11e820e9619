from __future__ import annotations

import asyncio
import importlib
import sys
from pathlib import Path

import pytest

from pegboard.plugins.building.describe import load_entry
from pegboard.plugins.building.isolation import author_traceback, is_plugin_fault, one_line


@pytest.mark.parametrize(
    "error", [ValueError("no"), SystemExit(3), GeneratorExit(), MemoryError(), BaseException()]
)
def test_what_a_plugin_raises_is_its_own_fault(error: BaseException) -> None:
    assert is_plugin_fault(error)


def test_an_interrupt_is_the_persons_will() -> None:
    assert not is_plugin_fault(KeyboardInterrupt())


@pytest.mark.anyio
async def test_a_cancellation_is_a_fault_only_when_nobody_asked_for_it() -> None:
    judged = []

    async def work(waits: asyncio.Event) -> None:
        try:
            await waits.wait()
            raise asyncio.CancelledError
        except asyncio.CancelledError as error:
            judged.append(is_plugin_fault(error))

    by_itself = asyncio.Event()
    by_itself.set()
    await work(by_itself)
    told = asyncio.create_task(work(asyncio.Event()))
    await asyncio.sleep(0)
    told.cancel()
    await told
    assert judged == [True, False]


def test_an_error_fits_on_one_line() -> None:
    assert one_line(ValueError("first\n  second")) == "ValueError: first second"
    assert one_line(KeyError()) == "KeyError"


def test_a_traceback_begins_in_the_code_of_the_author(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "breaks_at_import.py").write_text("def dig():\n    return {}['gold']\n\n\ndig()\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    with pytest.raises(KeyError) as caught:
        load_entry("breaks_at_import:plugin")
    sys.modules.pop("breaks_at_import", None)
    # the first frames are this test's, which is no plugin's author
    error = caught.value.with_traceback(caught.tb.tb_next)
    lines = author_traceback(error).splitlines()
    assert "breaks_at_import.py" in lines[1]
    assert lines[-1] == "KeyError: 'gold'"
    assert "importlib" not in "\n".join(lines)


def test_an_error_of_the_host_keeps_its_whole_traceback() -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        load_entry("nowhere_to_be_found:plugin")
    error = caught.value.with_traceback(caught.tb.tb_next)
    assert "load_entry" in author_traceback(error)
