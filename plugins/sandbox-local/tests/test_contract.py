from __future__ import annotations

from pegboard_sandbox_local.sandbox import LocalBackend

from pegboard import SandboxBackend
from pegboard.testing import PluginContract, SandboxContract


class TestPlugin(PluginContract):
    plugin = "sandbox-local"


class TestSandbox(SandboxContract):
    backend_source = (
        "from pegboard_sandbox_local.sandbox import LocalBackend\n"
        "backend = LocalBackend(allow_unconfined_shell=True)"
    )

    def make_backend(self) -> SandboxBackend:
        return LocalBackend(allow_unconfined_shell=True)
