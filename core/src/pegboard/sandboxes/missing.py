"""The sandbox of a host that has none: it refuses, and says what to install."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, NoReturn

from pegboard.contracts.effects import ALL_EFFECTS, Effects
from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import (
    MAX_READ,
    Command,
    Completed,
    FileStat,
    OutputSink,
    SandboxInfo,
    SandboxReport,
)

NO_SANDBOX: Final = "no sandbox is installed"
NONE: Final = "missing"
"""Its id, by which a report is known to be of no sandbox."""
INSTALL: Final = "pip install pegboard-sandbox-" + (
    "bubblewrap" if sys.platform == "linux" else "local"
)


class MissingSandbox:
    """Stands where a sandbox should be: a host without one gives less, never an open door.

    Args:
        workspace: The folder of the run.
        reason: Why there is no sandbox.
        fix: The command that brings one.
        effects: Kept, so that a narrowed one is a sandbox like any other.
    """

    info = SandboxInfo(id=NONE, confines_commands=True, preference=100)

    def __init__(
        self,
        workspace: Path,
        *,
        reason: str = NO_SANDBOX,
        fix: str | None = INSTALL,
        effects: Effects = ALL_EFFECTS,
    ) -> None:
        self.workspace = workspace
        self.effects = effects
        self._reason = reason
        self._fix = fix

    def resolve(self, path: str, *, write: bool = False) -> str:
        """Refuse."""
        self._refuse()

    def display(self, absolute: str) -> str:
        """Return the path as it is."""
        return absolute

    async def read(self, path: str, *, offset: int = 0, limit: int = MAX_READ) -> bytes:
        """Refuse."""
        self._refuse()

    async def write(
        self,
        path: str,
        data: bytes,
        *,
        parents: bool = True,
        must_be_new: bool = False,
        new_mode: int | None = None,
    ) -> None:
        """Refuse."""
        self._refuse()

    async def stat(self, path: str) -> FileStat | None:
        """Refuse."""
        self._refuse()

    async def list_dir(self, path: str) -> list[FileStat]:
        """Refuse."""
        self._refuse()

    def walk(self, path: str, *, skip: frozenset[str] = frozenset()) -> AsyncIterator[FileStat]:
        """Refuse."""
        self._refuse()

    async def make_dir(self, path: str) -> None:
        """Refuse."""
        self._refuse()

    async def remove(self, path: str) -> None:
        """Refuse."""
        self._refuse()

    async def rename(self, source: str, target: str) -> None:
        """Refuse."""
        self._refuse()

    async def run(self, command: Command, *, on_output: OutputSink | None = None) -> Completed:
        """Refuse."""
        self._refuse()

    def narrowed(self, effects: Effects) -> MissingSandbox:
        """Return the same refusal."""
        return MissingSandbox(
            self.workspace, reason=self._reason, fix=self._fix, effects=self.effects & effects
        )

    def explain(self) -> SandboxReport:
        """Say that nothing can be reached."""
        reason = f"{self._reason[:1].upper()}{self._reason[1:]}".rstrip(".")
        notes = [f"{reason}: no tool can reach files or run commands.", *filter(None, [self._fix])]
        kinds = ("fs_read", "fs_write", "net", "signals", "pids", "tree_kill")
        return SandboxReport(
            sandbox=NONE, enforced=dict.fromkeys(kinds, "yes"), grants=(), notes=tuple(notes)
        )

    async def aclose(self) -> None:
        """Do nothing."""

    def _refuse(self) -> NoReturn:
        raise SandboxError(self._reason, fix=self._fix)
