from __future__ import annotations

from pegboard_sandbox_bubblewrap.landlock_sandbox import LandlockBackend
from pegboard_sandbox_bubblewrap.sandbox import BubblewrapBackend

from pegboard import SandboxBackend
from pegboard.testing import PluginContract, SandboxContract


class TestPlugin(PluginContract):
    plugin = "sandbox-bubblewrap"


class TestBubblewrap(SandboxContract):
    backend_source = (
        "from pegboard_sandbox_bubblewrap.sandbox import BubblewrapBackend\n"
        "backend = BubblewrapBackend()"
    )

    def make_backend(self) -> SandboxBackend:
        return BubblewrapBackend()


class TestLandlock(SandboxContract):
    backend_source = (
        "from pegboard_sandbox_bubblewrap.landlock_sandbox import LandlockBackend\n"
        "backend = LandlockBackend()"
    )

    def make_backend(self) -> SandboxBackend:
        return LandlockBackend()
