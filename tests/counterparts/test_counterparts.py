"""The counterparts themselves: they end with whoever started them, and what is missing is named."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from counterparts import Answer, ScriptedServer, places, scripted

TESTS = Path(__file__).resolve().parents[1]
SERVER = (
    "from http.server import SimpleHTTPRequestHandler as Handler; import socketserver; "
    "socketserver.TCPServer(('127.0.0.1', {port}), Handler).serve_forever()"
)


def test_a_server_dies_with_whoever_started_it(tmp_path: Path) -> None:
    program = f"""
import os, sys
sys.path.insert(0, {str(TESTS)!r})
from pathlib import Path
from counterparts.process import ServerProcess
command = [sys.executable, "-c", {SERVER!r}]
server = ServerProcess(command, health="/", log=Path({str(tmp_path / "log")!r}))
print(server.url, flush=True)
os.kill(os.getpid(), 9)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    port = ran.stdout.strip().rpartition(":")[2]
    assert port.isdecimal(), ran.stderr
    until = time.monotonic() + 20
    while serves(int(port)):
        assert time.monotonic() < until, "it still answers"
        time.sleep(0.05)


def serves(port: int) -> bool:
    import socket

    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def test_a_server_that_does_not_come_up_is_told_with_what_it_printed(tmp_path: Path) -> None:
    from counterparts.process import ServerProcess

    command = [sys.executable, "-c", "raise SystemExit('no such model')"]
    with pytest.raises(RuntimeError, match="no such model"):
        ServerProcess(command, health="/", log=tmp_path / "log")


def test_what_is_not_installed_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(places, "find_spec", lambda name: None)
    assert "requirements-dev.txt" in (places.no_llmock() or "")
    assert "requirements-dev.txt" in (places.no_llama() or "")
    monkeypatch.setattr(places, "find_spec", lambda name: name)
    monkeypatch.setattr(places, "MODEL", tmp_path / "nothing")
    monkeypatch.setattr(places, "AIMOCK", tmp_path / "nothing")
    assert "install.py" in (places.no_llama() or "")
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    assert "Node.js" in (places.no_aimock() or "")


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_scripted_server_gives_each_request_the_next_answer_and_then_the_last() -> None:
    import httpx

    async with scripted(Answer.json(1), Answer.json(2)) as server, httpx.AsyncClient() as client:
        assert isinstance(server, ScriptedServer)
        got = [(await client.post(server.url, json={"n": n})).json() for n in range(3)]
        assert got == [1, 2, 2]
        assert [request.json for request in server.requests] == [{"n": 0}, {"n": 1}, {"n": 2}]
