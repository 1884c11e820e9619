"""Settings of the provider: `[providers.NAME]`."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class ScriptedSettings(BaseModel):
    """What the operator decides."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Path = Field(description="The script, a TOML file.")
