"""Settings of the sandboxes: `[sandboxes.bubblewrap]` and `[sandboxes.landlock]`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Mode = Literal["strict", "standard", "open"]
"""What a command sees and reaches beside the grants."""


class ConfinedSettings(BaseModel):
    """What the operator decides about both."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    durable_writes: bool = Field(
        default=True,
        description="Wait until a written file is on the disk; false is faster on slow disks.",
    )
    max_file_mb: int = Field(
        default=1024, ge=0, description="Megabytes of a file that a command writes; 0 = no limit."
    )
    max_processes: int = Field(
        default=512,
        ge=0,
        description="Processes of a command; 0 = no limit. Root has none, nor has landlock.",
    )
    max_open_files: int = Field(
        default=1024, ge=0, description="Open files of a process; 0 = no limit."
    )


class BubblewrapSettings(ConfinedSettings):
    """What the operator decides about bubblewrap."""

    mode: Mode = Field(
        default="standard",
        description="strict = no network ever and nothing but programs and grants; standard = "
        "network for calls that need it, through the guard; open = the whole file system can be "
        "read, and the network is the machine's own.",
    )
    allow_hosts: list[str] | None = Field(
        default=None,
        description="Hosts that commands may reach, such as pypi.org or *.example.org; empty = "
        "none, absent = every public one (as far as `mode` gives any network).",
    )
    allow_ports: list[int] = Field(
        default=[80, 443], description="Ports of those hosts that may be connected to."
    )
    allow_private: list[str] = Field(
        default=[],
        description="host:port pairs of your own network that may be reached all the same.",
    )
    tmp_mb: int = Field(
        default=512, ge=1, description="Megabytes of /tmp, which each command finds empty."
    )


class LandlockSettings(ConfinedSettings):
    """What the operator decides about Landlock."""

    mode: Literal["strict", "standard"] = Field(
        default="standard",
        description="strict = nothing but programs and grants; standard = also certificates, the "
        "time zone and what version managers have installed. There is no network in either.",
    )
