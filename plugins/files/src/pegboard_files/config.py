"""Settings of the file tools: `[plugins.files]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class FilesSettings(BaseModel):
    """How much the file tools read and show at once."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    read_lines: int = Field(
        default=2000, ge=1, le=100_000, description="Lines that file_read shows unless told."
    )
    line_chars: int = Field(
        default=2000, ge=80, le=100_000, description="Characters of one line that are shown."
    )
    search_seconds: float = Field(
        default=30.0, gt=0, le=100, description="Seconds that a search may take."
    )
    ripgrep: bool = Field(
        default=True, description="Let ripgrep choose the files of a search, where it is installed."
    )
    history_days: int = Field(
        default=30, ge=1, le=3650, description="Days for which `pegboard undo` can take back."
    )
    history_mb: int = Field(
        default=256, ge=1, le=65_536, description="MiB that the file history takes at most."
    )
    history_file_mb: int = Field(
        default=10, ge=0, le=64, description="MiB of a file that is kept at most."
    )
