"""Confines commands in containers of Docker or Podman."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import Plugin

if TYPE_CHECKING:
    from pegboard import PluginContext
    from pegboard_sandbox_docker.config import DockerSettings
    from pegboard_sandbox_docker.sandbox import DockerBackend

plugin = Plugin(summary="Sandbox of Docker or Podman: each command runs in a container of its own.")


@plugin.sandbox(
    "docker",
    summary="Each command runs in a container made from an image that you choose",
    config="pegboard_sandbox_docker.config:DockerSettings",
    confines_commands=True,
    preference=40,
)
def docker(context: PluginContext, settings: DockerSettings) -> DockerBackend:
    """Return the backend that uses a container engine."""
    # imported here: a host that lists its plugins shall not load what runs processes
    from pegboard_sandbox_docker.sandbox import DockerBackend

    return DockerBackend(settings)
