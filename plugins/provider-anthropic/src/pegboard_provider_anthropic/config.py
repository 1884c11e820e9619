"""Settings of the provider: `[providers.NAME]`."""

from __future__ import annotations

from typing import Literal

from pegboard_provider_http.settings import SECRET, ServiceSettings
from pydantic import Field


class AnthropicSettings(ServiceSettings):
    """What the operator decides."""

    api_key: str = Field(
        default="anthropic_api_key",
        description="Name of the secret that is the key: it is read from the environment "
        "(`ANTHROPIC_API_KEY`), or where `pegboard secret set` keeps it. `env:NAME` is read from "
        "that variable only; empty = no key.",
        json_schema_extra=SECRET,
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
