"""Settings of the sandbox: `[sandboxes.ssh]`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class RemoteGrant(BaseModel):
    """A folder of the other machine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(description="Absolute path there.")
    mode: Literal["ro", "rw"] = Field(default="ro", description="rw = tools may write there.")


class SshSettings(BaseModel):
    """What the operator decides."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = Field(
        default="", description="Name or address of the machine, or a Host of ~/.ssh/config."
    )
    port: int | None = Field(
        default=None, ge=1, le=65_535, description="Its port; absent = as ssh would choose."
    )
    user: str = Field(default="", description="User there; empty = as ssh would choose.")
    workspace: str = Field(
        default="",
        description="Folder there that relative paths and commands start in; empty = the same path "
        "as the workspace has here.",
    )
    grants: list[RemoteGrant] = Field(
        default=[], description="Further folders there that tools may use."
    )
    known_hosts: str = Field(
        default="",
        description="File with the keys of machines that are trusted; empty = ~/.ssh/known_hosts. "
        "A machine whose key is not in it is refused.",
    )
    identities: list[str] = Field(
        default=[],
        description="Files with private keys to log in with; empty = the agent's, and ~/.ssh/id_*.",
    )
    connect_timeout_s: float = Field(
        default=15.0, gt=0, description="Seconds that connecting and logging in may take."
    )
