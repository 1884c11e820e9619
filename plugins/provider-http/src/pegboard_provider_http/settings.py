"""Settings that every service has: `[providers.NAME]`."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

SECRET: Final[dict[str, Any]] = {"x-secret-name": True}
"""Marks a setting that names a secret; the host gives the factory that secret and no other."""


class ServiceSettings(BaseModel):
    """What the operator decides about any service; a provider adds what is its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    headers: dict[str, str] = Field(
        default_factory=dict, description="Further HTTP headers; never put a key here."
    )
    connect_s: float = Field(
        default=10.0, gt=0, le=300, description="Seconds to wait for a connection."
    )
    idle_s: float = Field(
        default=300.0, gt=0, le=3600, description="Seconds to wait for the next byte of an answer."
    )
    context: int | None = Field(
        default=None, gt=0, description="Context window in tokens, where the default is wrong."
    )
    max_output: int | None = Field(
        default=None, gt=0, description="Longest answer in tokens, where the default is wrong."
    )
