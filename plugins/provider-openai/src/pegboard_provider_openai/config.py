"""Settings of the providers: `[providers.NAME]`."""

from __future__ import annotations

from typing import Literal

from pegboard_provider_http.settings import SECRET, ServiceSettings
from pydantic import Field


class OpenAISettings(ServiceSettings):
    """Settings of a provider of the type `openai`."""

    api_key: str = Field(
        default="openai_api_key",
        description="Name of the secret that is the key: it is read from the environment "
        "(`OPENAI_API_KEY`), or where `pegboard secret set` keeps it. `env:NAME` is only ever read "
        "from that variable.",
        json_schema_extra=SECRET,
    )
    base_url: str = Field(
        default="https://api.openai.com/v1", description="Address of the interface."
    )
    model: str = Field(default="gpt-5.5", description="Model to ask when a run names none.")
    summaries: bool = Field(
        default=False,
        description="Ask for summaries of the reasoning, to show them; OpenAI gives them to "
        "verified organisations only, and refuses the requests of others.",
    )
    freeform: bool | None = Field(
        default=None,
        description="Let the model write what a tool takes as one plain text (a patch) without "
        "JSON around it; absent = GPT-5 and Codex do.",
    )


class CompatibleSettings(ServiceSettings):
    """Settings of a provider of the type `openai-compatible`."""

    server: Literal[
        "openai",
        "deepseek",
        "groq",
        "llamacpp",
        "lmstudio",
        "mistral",
        "ollama",
        "openrouter",
        "vllm",
        "other",
    ] = Field(description="Which server it is: sets the address, the key and its peculiarities.")
    api_key: str | None = Field(
        default=None,
        description="Name of the secret that is the key, or `env:NAME`; absent = as usual for the "
        "server (`groq_api_key`, which `GROQ_API_KEY` is, too), empty = it needs none.",
        json_schema_extra=SECRET,
    )
    model: str = Field(default="", description="Model to ask when a run names none.")
    base_url: str = Field(default="", description="Address; empty = as usual for the server.")
    max_tokens: Literal["", "max_tokens", "max_completion_tokens"] = Field(
        default="", description="Field for the longest answer; empty = as usual for the server."
    )
    usage_asked: bool | None = Field(
        default=None, description="Ask for token counts; absent = as usual for the server."
    )
    effort: bool | None = Field(
        default=None, description="Send the reasoning effort; absent = as usual for the server."
    )
    tools: bool | None = Field(
        default=None, description="Declare tools; absent = as usual for the model."
    )
    images: bool | None = Field(
        default=None, description="Send images; absent = as usual for the server and the model."
    )
