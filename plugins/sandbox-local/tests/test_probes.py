"""What an unconfined command does, beside what sandboxes that confine hold off."""

from __future__ import annotations

from pegboard_sandbox_local.sandbox import LocalBackend

from pegboard import SandboxBackend
from pegboard.testing import SandboxProbes


class TestProbes(SandboxProbes):
    allowed = None  # it depends on who runs it, for nothing is held off here

    def make_backend(self) -> SandboxBackend:
        return LocalBackend(allow_unconfined_shell=True)
