"""Settings of the provider: `[providers.NAME]`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class AnthropicSettings(BaseModel):
    """What the operator decides."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    api_key: str = Field(
        default="anthropic_api_key",
        description="Name of the secret that is the key: it is read from the environment "
        "(`ANTHROPIC_API_KEY`), or where `pegboard secret set` keeps it. `env:NAME` is read from "
        "that variable only; empty = no key.",
        json_schema_extra={"x-secret-name": True},
    )
    base_url: str = Field(
        default="https://api.anthropic.com", description="Address, without `/v1`."
    )
    model: str = Field(
        default="claude-sonnet-5-5", description="Model to ask when a run names none."
    )
    version: str = Field(
        default="2026-10-21",
        pattern=r"\d{4}-\d{2}-\d{2}",
        description="Value of `anthropic-version`; older servers need `2023-06-01`.",
    )
    key_header: Literal["authorization", "x-api-key"] = Field(
        default="x-api-key", description="Header that carries the key."
    )
    cache: bool = Field(default=True, description="Let the service cache what repeats.")
    thinking: bool = Field(
        default=False,
        description="Ask for reasoning, and show it, also when a run names no effort.",
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
