"""aimock: answers from fixtures in every dialect, and keeps a journal of what it was sent."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterparts.places import AIMOCK
from counterparts.process import ServerProcess


@dataclass(frozen=True)
class Sent:
    """One request as it arrived.

    Args:
        path: Path of the request.
        headers: Its headers, names lower-cased; keys are blackened.
        body: Its JSON body, as aimock reads every dialect: that of Chat Completions.
    """

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


class Journal:
    """A running aimock.

    Args:
        folder: Folder for its files.
        options: Options of its command line.

    Attributes:
        url: Its address; OpenAI's interfaces are at `/v1`, Anthropic's at `/v1/messages`, Gemini's
            at `/v1beta`.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        fixtures = folder / "fixtures.json"
        fixtures.write_text('{"fixtures": []}', encoding="utf-8")
        command = [
            shutil.which("node") or "node",
            str(AIMOCK),
            *("--host", "127.0.0.1", "--port", "{port}", "--fixtures", str(fixtures)),
            *("--log-level", "warn"),
            *options,
        ]
        self._process = ServerProcess(command, health="/health", log=folder / "aimock.log")
        self.url = self._process.url

    def answer(self, *fixtures: Mapping[str, Any]) -> None:
        """Answer from these from now on, and forget what was sent before.

        Args:
            fixtures: `{"match": {...}, "response": {...}}`; the first that matches counts.
        """
        self._process.ask("/__aimock/reset", {})
        if fixtures:
            self._process.ask("/__aimock/fixtures", {"fixtures": list(fixtures)})

    def sent(self) -> list[Sent]:
        """Return what it was sent, oldest first."""
        return [
            Sent(
                entry["path"],
                {name.lower(): value for name, value in entry["headers"].items()},
                entry["body"] or {},
            )
            for entry in self._process.ask("/__aimock/journal")
        ]

    def close(self) -> None:
        """End it."""
        self._process.close()
