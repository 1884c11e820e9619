"""Settings of the sandbox: `[sandboxes.docker]`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class DockerSettings(BaseModel):
    """What the operator decides."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    image: str = Field(
        default="",
        description="Image that commands run in, best by its digest (debian@sha256:...). It needs "
        "/bin/sh, and the programs that commands use. Nothing is pulled.",
    )
    engine: str = Field(
        default="",
        description="Program that runs containers; empty = the first of docker and podman that "
        "answers.",
    )
    engine_arguments: list[str] = Field(
        default=[],
        description="Arguments of that program before `run`, such as --context NAME.",
    )
    network: Literal["none", "bridge"] = Field(
        default="none",
        description="bridge = calls that need a network have the engine's own, with all that can "
        "be reached from it; no host is refused.",
    )
    memory_mb: int = Field(default=2048, ge=16, description="Megabytes of memory of a command.")
    tmp_mb: int = Field(
        default=512, ge=1, description="Megabytes of /tmp, which each command finds empty."
    )
    max_processes: int = Field(default=512, ge=8, description="Processes of a command.")
    max_open_files: int = Field(default=1024, ge=32, description="Open files of a process.")
    durable_writes: bool = Field(
        default=True,
        description="Wait until a written file is on the disk; false is faster on slow disks.",
    )
