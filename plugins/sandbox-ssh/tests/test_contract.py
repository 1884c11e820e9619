from __future__ import annotations

from counterparts.ssh_server import ssh_server
from pegboard_sandbox_ssh.config import SshSettings
from pegboard_sandbox_ssh.sandbox import SshBackend

from pegboard import SandboxBackend
from pegboard.testing import PluginContract, SandboxContract


class TestPlugin(PluginContract):
    plugin = "sandbox-ssh"


class TestSsh(SandboxContract):
    def make_backend(self) -> SandboxBackend:
        server = ssh_server()
        return SshBackend(
            SshSettings(
                host="127.0.0.1",
                port=server.port,
                user=server.user,
                identities=[str(server.identity)],
                known_hosts=str(server.known_hosts),
            )
        )
