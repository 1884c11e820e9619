"""llmock: speaks the dialects of ten vendors, breaks its answers, and judges the client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from counterparts.process import ServerProcess


class Chaos:
    """A running llmock.

    Args:
        log: File for what it prints.
        options: Options of `llmock serve`, e.g. `--rpm 1`.

    Attributes:
        url: Its address; OpenAI's interfaces are at `/v1`, Anthropic's at `/anthropic`, Gemini's
            at `/gemini`.
    """

    def __init__(self, log: Path, *options: str) -> None:
        serve = ["serve", "--host", "127.0.0.1", "--port", "{port}", "--log-level", "warning"]
        self._process = ServerProcess([*_llmock(), *serve, *options], health="/health", log=log)
        self.url = self._process.url

    def behave(self, *behaviours: dict[str, Any]) -> None:
        """Queue what the next requests meet, e.g. `{"type": "fail", "status": 429}`."""
        self._process.ask("/_llmock/scenario", {"behaviors": list(behaviours)})

    def reset(self) -> None:
        """Forget requests and behaviours."""
        self._process.ask("/_llmock/reset", {})

    def requests(self) -> list[dict[str, Any]]:
        """Return what it was asked, oldest first: `path body status fault chunks_sent`."""
        return list(self._process.ask("/_llmock/requests")["requests"])

    def verdict(self) -> list[str]:
        """Return what it has to say against the client, warnings included; best nothing."""
        found = self._process.ask("/_llmock/verdict")["findings"]
        return [f"{item['severity']}: {item['code']}: {item['title']}" for item in found]

    def report(self, *, strict: bool = False) -> subprocess.CompletedProcess[str]:
        """Return the outcome of `llmock report`: exit status 1 when a client misbehaved."""
        command = [*_llmock(), "report", "--url", self.url, *(["--strict"] if strict else [])]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    def close(self) -> None:
        """End it."""
        self._process.close()


def _llmock() -> list[str]:
    return [sys.executable, "-I", "-c", "from llmock.cli import app; app()"]
