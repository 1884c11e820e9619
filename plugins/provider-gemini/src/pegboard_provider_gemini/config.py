"""Settings of the provider: `[providers.NAME]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class GeminiSettings(BaseModel):
    """What the operator decides."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    api_key: str = Field(
        default="gemini_api_key",
        description="Name of the secret that is the key: it is read from the environment "
        "(`GEMINI_API_KEY`), or where `pegboard secret set` keeps it. `env:NAME` is read from "
        "that variable only; empty = no key.",
        json_schema_extra={"x-secret-name": True},
    )
    base_url: str = Field(
        default="https://generativelanguage.googleapis.com",
        description="Address, without the version.",
    )
    api_version: str = Field(
        default="v1beta",
        pattern=r"^v[0-9a-z]+$",
        description="Version of the interface: `v1beta`, which every gateway speaks, or `v1`.",
    )
    model: str = Field(
        default="gemini-3.8-flash", description="Model to ask when a run names none."
    )
    thinking: bool = Field(
        default=False, description="Show reasoning also when a run names no effort."
    )
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
