"""A server in a process of its own, which never outlives the tests."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

START_S = 60.0
"""Seconds that a server may take to answer: the machine may be busy."""
_TIED = Path(__file__).with_name("tied.py")
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ServerProcess:
    """A server on a free port.

    Args:
        command: What starts it; `{port}` becomes its port.
        health: Path that answers 200 once it can be asked.
        log: File for what it prints.
    """

    def __init__(self, command: Sequence[str], *, health: str, log: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._log = log
        argv = [part.replace("{port}", str(port)) for part in command]
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(_TIED), *argv],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._await(health)

    def ask(self, path: str, payload: Any = None, *, method: str | None = None) -> Any:
        """Make a request and return its JSON, or its text where it is none."""
        data = None if payload is None else json.dumps(payload).encode()
        request = urllib.request.Request(
            self.url + path,
            data=data,
            headers={"content-type": "application/json"},
            method=method or ("GET" if data is None else "POST"),
        )
        with _DIRECT.open(request, timeout=30) as response:
            text = response.read().decode()
        try:
            return json.loads(text)
        except ValueError:
            return text

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

    def _await(self, health: str) -> None:
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            try:
                self.ask(health)
                return
            except (OSError, urllib.error.URLError):
                if self._process.poll() is not None:
                    break
                time.sleep(0.05)
        said = self._log.read_text("utf-8", "replace")[-2_000:]
        self.close()
        raise RuntimeError(f"{self._process.args} did not come up:\n{said}")
