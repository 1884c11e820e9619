"""Settings of the shell tool: `[plugins.shell]`."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

LONGEST_MS: Final = 600_000


class ShellSettings(BaseModel):
    """How long commands may take."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    timeout_ms: int = Field(
        default=120_000, ge=1, le=LONGEST_MS, description="Milliseconds unless the call says more."
    )
    max_timeout_ms: int = Field(
        default=LONGEST_MS, ge=1, le=LONGEST_MS, description="Milliseconds that a call may ask for."
    )
