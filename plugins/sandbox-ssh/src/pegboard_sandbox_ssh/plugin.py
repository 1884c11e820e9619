"""Works on another machine, over SSH."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import Plugin

if TYPE_CHECKING:
    from pegboard import PluginContext
    from pegboard_sandbox_ssh.config import SshSettings
    from pegboard_sandbox_ssh.sandbox import SshBackend

plugin = Plugin(summary="Sandbox on another machine, over SSH.")


@plugin.sandbox(
    "ssh",
    summary="Files and commands of another machine, with the rights of its user",
    config="pegboard_sandbox_ssh.config:SshSettings",
    confines_commands=False,
    preference=95,
)
def ssh(context: PluginContext, settings: SshSettings) -> SshBackend:
    """Return the backend that connects to another machine."""
    # imported here: a host that lists its plugins shall not load an SSH client
    from pegboard_sandbox_ssh.sandbox import SshBackend

    return SshBackend(settings)
