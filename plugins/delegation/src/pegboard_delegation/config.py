"""Settings of delegation: `[plugins.delegation]`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class DelegationSettings(BaseModel):
    """Who workers are, where neither the call nor a named agent says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: str = Field(
        default="", description="Provider instance that workers ask; empty = that of the agent."
    )
    model: str = Field(
        default="", description="Model that workers ask for; empty = that of the agent."
    )
    reasoning_effort: Literal["low", "medium", "high"] | None = Field(
        default=None, description="How much workers think before they answer; absent = as usual."
    )
