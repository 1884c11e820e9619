"""Settings of the provider: `[providers.NAME]`."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class LocalSettings(BaseModel):
    """What the operator decides."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(
        min_length=1,
        description="Name of a model that `pegboard models add` has added, or the path of a GGUF "
        "file.",
    )
    context: int | None = Field(
        default=None,
        ge=256,
        description="Context window in tokens; absent = what the model was trained with, 8192 at "
        "most. More takes more memory.",
    )
    max_output: int | None = Field(
        default=None,
        gt=0,
        description="Longest answer in tokens; absent = a quarter of the window.",
    )
    threads: int | None = Field(
        default=None,
        gt=0,
        le=1024,
        description="Processors that a model uses; absent = all but one. All of them is much "
        "slower as soon as anything else runs.",
    )
    tools: bool | None = Field(
        default=None,
        description="Declare tools; absent = only to models of a thousand million weights or more.",
    )
    chat_template: Path | None = Field(
        default=None, description="A file with a template (Jinja) in place of the model's own."
    )
    temperature: float | None = Field(
        default=None, ge=0, le=2, description="0 = always the same answer; absent = 0.8."
    )
    start_s: float = Field(
        default=300.0, gt=0, le=3600, description="Seconds that a model may take to be loaded."
    )
    idle_s: float = Field(
        default=600.0, gt=0, le=3600, description="Seconds to wait for the next byte of an answer."
    )
