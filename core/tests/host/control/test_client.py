"""What a command does with a host that is none, a strange one, or one that ends."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard.contracts.errors import PegboardError, StoreError
from pegboard.host.control import client as client_module
from pegboard.host.control.client import HostGone, listening, open_client, reach
from pegboard.host.control.connection import MAX_CALLS, Call, Connection
from pegboard.host.control.lines import Lines
from pegboard.host.control.protocol import MAX_REQUEST, ProtocolError

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets"),
]
GREETING = {"pegboard": "0.1.0", "protocol": 1, "pid": 1, "run": "r"}


@asynccontextmanager
async def answering(state: Path, handle: Callable[[Lines], Awaitable[None]]) -> AsyncIterator[None]:
    """Answer clients of a state folder."""
    async with anyio.create_task_group() as group:

        async def serve(stream: Lines) -> None:
            try:
                await handle(stream)
            finally:
                with anyio.CancelScope(shield=True):
                    await stream.aclose()

        def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            group.start_soon(serve, Lines(reader, writer))

        path = str(state / "control.sock")
        server = await asyncio.start_unix_server(take, path, limit=MAX_REQUEST)
        yield
        server.close()
        group.cancel_scope.cancel()


def says(*frames: Any, then: Callable[[Lines], Awaitable[object]] | None = None):
    async def handle(stream: Lines) -> None:
        for frame in frames:
            data = frame if isinstance(frame, bytes) else json.dumps(frame).encode() + b"\n"
            await stream.send(data)
        if then is not None:
            await then(stream)

    return handle


def serves(verbs: dict[str, Any]):
    async def handle(stream: Lines) -> None:
        await Connection(stream, verbs, GREETING).run()

    return handle


async def test_where_nobody_listens_there_is_no_host(state: Path) -> None:
    assert await open_client(state) is None
    assert await reach(state) is None


async def test_a_socket_that_was_left_behind_is_no_host(state: Path) -> None:
    with socket.socket(socket.AF_UNIX) as own:
        own.bind(str(state / "control.sock"))
    assert (state / "control.sock").exists()
    assert await reach(state) is None


async def test_a_host_of_another_protocol_is_named_with_what_to_do(state: Path) -> None:
    async with answering(state, says({**GREETING, "protocol": 99, "pegboard": "9.0", "pid": 77})):
        with pytest.raises(ProtocolError, match=r"9\.0, process 77") as caught:
            await open_client(state)
    assert "kill 77" in (caught.value.fix or "")


async def test_what_greets_with_nonsense_is_an_error(state: Path) -> None:
    async with answering(state, says(b"SSH-2.0-OpenSSH\n")):
        with pytest.raises(ProtocolError):
            await open_client(state)


async def test_who_is_refused_is_told_why(state: Path) -> None:
    error = {"code": "refused", "message": "This host belongs to another user.", "fix": None}
    async with answering(state, says({"error": error})):
        with pytest.raises(PegboardError, match="another user") as caught:
            await open_client(state)
    assert caught.value.code == "refused"


async def test_a_host_that_says_nothing_is_given_up(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "ANSWER_S", 0.05)
    async with answering(state, says(then=lambda stream: anyio.sleep_forever())):
        with pytest.raises(StoreError, match="does not answer"):
            await open_client(state)


async def test_a_host_that_ends_fails_what_waits_and_what_comes(state: Path) -> None:
    async with answering(state, says(GREETING, then=lambda stream: stream.read())):
        client = await open_client(state)
        assert client is not None
        async with listening(client):
            with pytest.raises(HostGone):
                await client.call("status")
            with pytest.raises(HostGone):
                await client.call("status")


async def test_an_owner_without_a_socket_is_waited_for_and_named(state: Path) -> None:
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from pegboard.store.host_lock import HostLock\n"
        "lock = HostLock(Path(sys.argv[1]) / 'pegboard.lock', exclusive=True)\n"
        "print('locked', flush=True)\n"
        "time.sleep(30)\n"
    )
    argv = [sys.executable, "-c", code, str(state)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        with pytest.raises(StoreError, match=f"process {owner.pid}"):
            await reach(state, wait_s=0.3)
        owner.kill()


async def test_an_answer_of_many_megabytes_arrives(state: Path) -> None:
    async def echo(call: Call) -> dict[str, Any]:
        return {"text": call.text("text")}

    async with answering(state, serves({"echo": echo})):
        client = await open_client(state)
        assert client is not None
        async with listening(client):
            text = "ünï" * 3_000_000
            assert (await client.call("echo", text=text))["text"] == text
            with pytest.raises(ProtocolError):
                await client.call("echo", text="ü" * 11_000_000)
            assert (await client.call("echo", text="x"))["text"] == "x"


async def test_many_answers_at_a_time_find_who_asked(state: Path) -> None:
    async def late(call: Call) -> dict[str, Any]:
        number = call.number("number") or 0
        await anyio.sleep(0.01 * (MAX_CALLS - number))
        call.put({"note": number})
        return {"number": number}

    async with answering(state, serves({"late": late})):
        client = await open_client(state)
        assert client is not None
        answers = {}

        async def ask(number: int) -> None:
            answers[number] = (await client.call("late", number=number))["number"]

        async with listening(client), anyio.create_task_group() as group:
            for number in range(MAX_CALLS):
                group.start_soon(ask, number)
    assert answers == {number: number for number in range(MAX_CALLS)}


async def test_a_fault_of_a_verb_is_told_and_ends_nothing(
    state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(call: Call) -> dict[str, Any]:
        raise ZeroDivisionError("oops")

    async with answering(state, serves({"broken": broken})):
        client = await open_client(state)
        assert client is not None
        async with listening(client):
            for _ in range(2):
                with pytest.raises(PegboardError, match="oops") as caught:
                    await client.call("broken")
                assert caught.value.code == "internal"
    assert "a request through the control socket failed" in caplog.text


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root")
async def test_a_host_of_another_user_is_not_trusted(state: Path) -> None:
    code = (
        "import os, socket, sys\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "own = socket.socket(socket.AF_UNIX)\n"
        "own.bind(sys.argv[1]); own.listen()\n"
        "print('listens', flush=True)\n"
        "own.accept()\n"
    )
    state.chmod(0o777)
    path = state / "control.sock"
    argv = [sys.executable, "-S", "-c", code, str(path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert await open_client(state) is None, "the socket is not ours"
        os.chown(path, os.geteuid(), os.getegid())
        with pytest.raises(StoreError, match="Another user"):
            await open_client(state)
        other.kill()
