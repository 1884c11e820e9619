"""Settings of one local sandbox: `[sandboxes.local]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class LocalSettings(BaseModel):
    """What the operator decides."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    allow_unconfined_shell: bool = Field(
        default=False,
        description="Let tools run commands, which then have all the rights of your user.",
    )
    durable_writes: bool = Field(
        default=True,
        description="Wait until a written file is on the disk; false is faster on slow disks.",
    )
