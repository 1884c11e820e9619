"""No network unless the call needs one, and then no way but through the guard."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import pytest
from pegboard_sandbox_bubblewrap.report import GUARDED, OFFLINE
from pegboard_sandbox_bubblewrap.sandbox import BubblewrapSandbox

from pegboard import Command, Completed, SandboxError
from pegboard.testing.contracts.sandbox_probes import python_grants, python_inside

pytestmark = pytest.mark.anyio
Opener = Callable[..., Awaitable[BubblewrapSandbox]]
OFF = frozenset({"read", "fs_write", "exec"})
FETCH = """
import sys, urllib.request
opener = urllib.request.build_opener(*(
    [urllib.request.ProxyHandler({})] if sys.argv[2:] == ["direct"] else []
))
try:
    print(opener.open(sys.argv[1], timeout=5).read().decode())
except Exception as error:
    sys.exit(f"{error} {getattr(error, 'read', bytes)().decode()}")
"""


class Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *arguments) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    """Serve on this machine; return `host:port`."""
    made = ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield f"127.0.0.1:{made.server_port}"
    made.shutdown()
    thread.join()
    made.server_close()


async def fetch(box: BubblewrapSandbox, url: str, *more: str) -> Completed:
    # by themselves programs ask for what is at 127.0.0.1 without the proxy
    env = {"no_proxy": "", "NO_PROXY": ""}
    return await box.run(Command(argv=(python_inside(), "-I", "-c", FETCH, url, *more), env=env))


async def test_a_call_without_a_network_effect_has_none(opened: Opener, server: str) -> None:
    box = (await opened(*python_grants(), allow_hosts=["127.0.0.1"])).narrowed(OFF)
    done = await fetch(box, f"http://{server}/")
    assert done.exit_code == 1
    assert "Connection refused" in done.stderr.text()
    assert done.notes == (OFFLINE,)


async def test_an_allowed_host_is_reached_and_another_is_not(opened: Opener, server: str) -> None:
    port = int(server.rpartition(":")[2])
    box = await opened(
        *python_grants(),
        allow_hosts=["127.0.0.1"],
        allow_ports=[port],
        allow_private=[server],
    )
    done = await fetch(box, f"http://{server}/")
    assert (done.stdout.text(), done.notes) == ("hello\n", ()), done
    other = await fetch(box, "http://evil.example/")
    assert other.exit_code == 1
    assert "evil.example" in other.notes[0]
    assert "403" in other.stderr.text()


async def test_many_calls_share_one_broker_and_each_has_a_network_of_its_own(
    opened: Opener, server: str
) -> None:
    port = int(server.rpartition(":")[2])
    box = await opened(*python_grants(), allow_ports=[port], allow_private=[server])
    answers: list[str] = []

    async def one() -> None:
        answers.append((await fetch(box, f"http://{server}/")).stdout.text())

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(one)
    assert answers == ["hello\n"] * 6


async def test_private_addresses_are_refused_without_a_list_too(
    opened: Opener, server: str
) -> None:
    box = await opened(*python_grants(), allow_ports=[int(server.rpartition(":")[2])])
    done = await fetch(box, f"http://{server}/")
    assert done.exit_code == 1
    assert "127.0.0.1" in done.notes[0]


async def test_a_program_that_ignores_the_proxy_reaches_nothing_and_is_told_why(
    opened: Opener, server: str
) -> None:
    port = int(server.rpartition(":")[2])
    box = await opened(*python_grants(), allow_ports=[port], allow_private=[server])
    done = await fetch(box, f"http://{server}/", "direct")
    assert done.exit_code == 1
    assert done.notes == (GUARDED,)


@pytest.mark.parametrize("settings", [{"mode": "strict"}, {"allow_hosts": []}])
async def test_some_settings_give_no_network_whatever_the_call_says(
    opened: Opener, settings: dict, server: str
) -> None:
    box = await opened(*python_grants(), allow_private=[server], **settings)
    done = await fetch(box, f"http://{server}/")
    assert done.notes == (OFFLINE,)
    assert "http_proxy" not in (await box.run(Command(argv=("env",)))).stdout.text()


async def test_open_gives_the_machines_own_network_to_calls_that_need_one(
    opened: Opener, server: str
) -> None:
    box = await opened(*python_grants(), mode="open")
    assert (await fetch(box, f"http://{server}/")).stdout.text() == "hello\n"
    assert (await fetch(box.narrowed(OFF), f"http://{server}/")).exit_code == 1


async def test_a_list_binds_in_open_as_well(opened: Opener, server: str) -> None:
    box = await opened(*python_grants(), mode="open", allow_hosts=["example.org"])
    assert (await fetch(box, f"http://{server}/")).exit_code == 1


async def test_a_broker_that_died_is_replaced(opened: Opener, server: str) -> None:
    port = int(server.rpartition(":")[2])
    box = await opened(*python_grants(), allow_ports=[port], allow_private=[server])
    assert (await fetch(box, f"http://{server}/")).exit_code == 0
    broker = box._machine.broker._process
    assert broker is not None
    broker.kill()
    broker.wait()
    assert (await fetch(box, f"http://{server}/")).exit_code == 0


async def test_a_network_that_can_not_be_entered_is_an_error(opened: Opener) -> None:
    box = await opened()
    with pytest.raises(SandboxError, match=r"can't be set up: .*No such file"):
        await box._machine.broker.listen(2**22)


async def test_no_port_of_the_machine_is_taken(opened: Opener) -> None:
    box = await opened(*python_grants())
    await fetch(box, "http://evil.example/")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 3128))


async def test_an_answer_that_nobody_waited_for_is_not_taken_for_the_next_one(
    opened: Opener, server: str
) -> None:
    port = int(server.rpartition(":")[2])
    box = await opened(*python_grants(), allow_ports=[port], allow_private=[server])
    broker = box._machine.broker
    with anyio.move_on_after(0):
        await broker.listen(os.getpid())
    assert (await fetch(box, f"http://{server}/")).stdout.text() == "hello\n"
