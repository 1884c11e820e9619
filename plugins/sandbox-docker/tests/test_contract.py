from __future__ import annotations

from counterparts.container_image import settings
from pegboard_sandbox_docker.sandbox import DockerBackend

from pegboard import SandboxBackend
from pegboard.testing import PluginContract, SandboxContract, SandboxProbes

NOT_FILTERED = frozenset(
    {"open_a_vsock", "trace_an_own_child", "make_a_user_namespace", "ask_for_a_keyring"}
)
"""What the filter of Podman 4.3 lets through; none of it leads out of the container."""


class TestPlugin(PluginContract):
    plugin = "sandbox-docker"


class TestDocker(SandboxContract):
    starts_within_s = 3.0
    backend_source = (
        "from pegboard_sandbox_docker.config import DockerSettings\n"
        "from pegboard_sandbox_docker.sandbox import DockerBackend\n"
        f"given = {settings().model_dump_json()!r}\n"
        "backend = DockerBackend(DockerSettings.model_validate_json(given))"
    )

    def make_backend(self) -> SandboxBackend:
        return DockerBackend(settings())


class TestDockerProbes(SandboxProbes):
    allowed = SandboxProbes.allowed | NOT_FILTERED

    def make_backend(self) -> SandboxBackend:
        return DockerBackend(settings())
