"""The laws of a sandbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from pegboard.testing.contracts.sandbox_commands import CommandLaws
from pegboard.testing.contracts.sandbox_files import FileLaws, ReachLaws
from pegboard.testing.contracts.sandbox_processes import ProcessLaws

ENFORCED: Final = {"fs_read", "fs_write", "net", "signals", "pids", "tree_kill"}


class SandboxContract(FileLaws, ReachLaws, CommandLaws, ProcessLaws):
    """Laws that file and command tools rely on.

    Subclass it and define `make_backend`. The laws run real commands (`sh`, `cat`, `env`, `sleep`,
    `yes`, `stty`) below pytest's `tmp_path`. Set `backend_source` too, so that a second host can be
    killed.
    """

    async def test_it_works_on_this_machine(self) -> None:
        """`probe` finds nothing missing; a suite for a sandbox that can't work proves nothing."""
        assert await self.make_backend().probe() is None

    async def test_it_says_what_it_enforces(self, tmp_path: Path) -> None:
        """`explain` answers every question with yes, partial or no, as JSON."""
        async with self.opened(tmp_path) as sandbox:
            report = sandbox.explain()
            assert set(report.enforced) == ENFORCED
            assert set(report.enforced.values()) <= {"yes", "partial", "no"}
            assert json.loads(json.dumps(report.to_dict()))["sandbox"] == sandbox.info.id
            if sandbox.info.confines_commands:
                confined = report.enforced["fs_write"]
                assert confined != "no", "commands are said to be confined"
                assert confined == "yes" or report.notes, "it does not say what it can't do"
