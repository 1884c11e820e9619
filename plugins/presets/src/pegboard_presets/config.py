"""Settings of the presets: `[plugins.presets.commands.NAME]`."""

from __future__ import annotations

import re
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, field_validator

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,50}")


class Preset(BaseModel):
    """One command that becomes a tool."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: list[str] = Field(
        min_length=1, description="Program and arguments; no shell reads it."
    )
    description: str = Field(default="", description="What it does, for the model.")
    arguments: bool = Field(
        default=False, description="Whether the model may add arguments of its own at the end."
    )
    working_dir: str = Field(default="", description="Folder to start in; empty = the workspace.")
    timeout_ms: int = Field(
        default=120_000, ge=1, le=3_600_000, description="Milliseconds at most."
    )
    writes: bool = Field(default=True, description="Whether it may change files of the workspace.")
    network: bool = Field(default=False, description="Whether it may reach the network.")
    allow_catastrophic: bool = Field(
        default=False,
        description="Whether it runs also when it would delete a system or home folder, write over "
        "a disk, shut the machine down and the like.",
    )
    enabled: bool = Field(default=True, description="Whether there is such a tool.")


class PresetsSettings(BaseModel):
    """Which commands are tools."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    commands: dict[str, Preset] = Field(
        default={}, description="By name; the tool of `test` is `preset_test`."
    )

    @field_validator("commands")
    @classmethod
    def _names_fit(cls, commands: dict[str, Preset]) -> dict[str, Preset]:
        for name in commands:
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no name: lower-case letters, digits and `_`")
        return commands
