"""43 things that a command must not be able to do, in each sandbox of this package."""

from __future__ import annotations

from pegboard_sandbox_bubblewrap.config import BubblewrapSettings, LandlockSettings
from pegboard_sandbox_bubblewrap.landlock_sandbox import LandlockBackend
from pegboard_sandbox_bubblewrap.sandbox import BubblewrapBackend

from pegboard import SandboxBackend
from pegboard.testing import SandboxProbes

NO_SOCKETS = frozenset({"listen_on_tcp", "open_netlink"})


class TestBubblewrapStandard(SandboxProbes):
    def make_backend(self) -> SandboxBackend:
        return BubblewrapBackend()


class TestBubblewrapStrict(SandboxProbes):
    def make_backend(self) -> SandboxBackend:
        return BubblewrapBackend(BubblewrapSettings(mode="strict"))


class TestLandlock(SandboxProbes):
    allowed = (SandboxProbes.allowed - NO_SOCKETS) | {"chmod_outside", "open_another_process"}

    def make_backend(self) -> SandboxBackend:
        return LandlockBackend(LandlockSettings(mode="strict"))
