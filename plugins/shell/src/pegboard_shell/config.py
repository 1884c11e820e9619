"""Settings of the shell tools: `[plugins.shell]`."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

LONGEST_MS: Final = 600_000
_DAY_MS: Final = 86_400_000


class ShellSettings(BaseModel):
    """How long commands may take, and which are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    timeout_ms: int = Field(
        default=120_000, ge=1, le=LONGEST_MS, description="Milliseconds unless the call says more."
    )
    max_timeout_ms: int = Field(
        default=LONGEST_MS, ge=1, le=LONGEST_MS, description="Milliseconds that a call may ask for."
    )
    background_ms: int = Field(
        default=_DAY_MS,
        ge=1,
        description="Milliseconds after which a command in the background or a terminal is ended.",
    )
    allow_catastrophic: bool = Field(
        default=False,
        description="Let commands through that delete a system or home folder, make file systems, "
        "write over disks, end every process or shut the machine down.",
    )
