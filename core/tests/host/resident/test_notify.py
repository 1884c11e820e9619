"""What a service manager is told."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from pegboard.host.resident.notify import Notifier, write_ready_file

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets"),
]


class Manager:
    """The socket of a service manager."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path.replace("@", "\0", 1) if path.startswith("@") else path)
        self.socket.settimeout(10)

    def told(self) -> list[str]:
        return self.socket.recv(4096).decode().splitlines()


@pytest.fixture
def manager() -> Iterator[Manager]:
    with tempfile.TemporaryDirectory(prefix="pb-") as folder:
        made = Manager(f"{folder}/notify")
        yield made
        made.socket.close()


def test_the_states(manager: Manager) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": manager.path})
    notifier.ready("serving")
    assert manager.told() == ["READY=1", "STATUS=serving"]
    notifier.reloading()
    first, second = manager.told()
    assert first == "RELOADING=1"
    assert second.partition("=")[2].isdigit()
    notifier.stopping("bye")
    assert manager.told() == ["STOPPING=1", "STATUS=bye"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="abstract sockets are Linux's")
def test_an_abstract_socket() -> None:
    manager = Manager(f"@pegboard-test-{os.getpid()}")
    with manager.socket:
        Notifier({"NOTIFY_SOCKET": manager.path}).ready("x")
        assert manager.told()[0] == "READY=1"


@pytest.mark.parametrize("address", ["", "relative", "/nowhere/at/all"])
def test_without_a_manager_nothing_happens(address: str) -> None:
    Notifier({"NOTIFY_SOCKET": address}).ready("x")


async def test_the_watchdog_is_answered_twice_as_often_as_it_wants(manager: Manager) -> None:
    env = {"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "100000"}
    with anyio.move_on_after(0.12):
        await Notifier(env).watch()
    assert manager.told() == ["WATCHDOG=1"]
    assert manager.told() == ["WATCHDOG=1"]


@pytest.mark.parametrize(
    "env", [{}, {"WATCHDOG_USEC": "0"}, {"WATCHDOG_USEC": "x"}, {"WATCHDOG_PID": "1"}]
)
async def test_nobody_watches(manager: Manager, env: dict[str, str]) -> None:
    env = {"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "100000", **env}
    if "WATCHDOG_PID" not in env and env["WATCHDOG_USEC"] == "100000":
        del env["WATCHDOG_USEC"]
    with anyio.move_on_after(0.08):
        await Notifier(env).watch()
    manager.socket.setblocking(False)
    with pytest.raises(BlockingIOError):
        manager.told()


def test_the_ready_file_is_there_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "ready"
    write_ready_file(file, 7)
    assert file.read_text() == "7\n"
    assert list(tmp_path.iterdir()) == [file]


def test_a_host_tells_its_whole_life(serving, manager: Manager) -> None:
    process = serving.start(NOTIFY_SOCKET=manager.path, WATCHDOG_USEC="400000")
    seen: list[str] = []

    def heard(part: str) -> None:
        while not any(part in line for line in seen):
            seen.extend(manager.told())

    heard("READY=1")
    heard("WATCHDOG=1")
    seen.clear()
    process.send_signal(signal.SIGHUP)
    heard("RELOADING=1")
    heard("READY=1")
    process.send_signal(signal.SIGTERM)
    heard("STOPPING=1")
    assert process.wait(20) == 0
