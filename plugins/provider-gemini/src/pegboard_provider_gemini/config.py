"""Settings of the provider: `[providers.NAME]`."""

from __future__ import annotations

from pegboard_provider_http.settings import SECRET, ServiceSettings
from pydantic import Field


class GeminiSettings(ServiceSettings):
    """What the operator decides."""

    api_key: str = Field(
        default="gemini_api_key",
        description="Name of the secret that is the key: it is read from the environment "
        "(`GEMINI_API_KEY`), or where `pegboard secret set` keeps it. `env:NAME` is read from "
        "that variable only; empty = no key.",
        json_schema_extra=SECRET,
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
