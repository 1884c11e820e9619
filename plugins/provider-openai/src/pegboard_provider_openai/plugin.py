"""What this package brings: the provider types `openai` and `openai-compatible`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import Plugin

if TYPE_CHECKING:
    from pegboard import PluginContext
    from pegboard_provider_openai.chat import ChatProvider
    from pegboard_provider_openai.config import CompatibleSettings, OpenAISettings
    from pegboard_provider_openai.responses import OpenAIProvider

plugin = Plugin(
    summary="Models of OpenAI, and of every server that speaks Chat Completions.",
    # what the known servers' keys are usually called; an instance may name others
    secrets=[
        "deepseek_api_key",
        "groq_api_key",
        "mistral_api_key",
        "openai_api_key",
        "openrouter_api_key",
    ],
)


@plugin.provider(
    "openai",
    summary="OpenAI's models through Responses",
    config="pegboard_provider_openai.config:OpenAISettings",
)
def openai(context: PluginContext, settings: OpenAISettings) -> OpenAIProvider:
    """Return a provider that asks OpenAI."""
    # imported here: a host that lists its plugins shall not load an HTTP client
    from pegboard_provider_openai.responses import OpenAIProvider

    key = context.secret(settings.api_key) if settings.api_key else ""
    return OpenAIProvider(settings, key, context.clock)


@plugin.provider(
    "openai-compatible",
    summary="Chat Completions: Ollama, vLLM, llama.cpp, LM Studio, OpenRouter, Groq and others",
    config="pegboard_provider_openai.config:CompatibleSettings",
)
async def openai_compatible(context: PluginContext, settings: CompatibleSettings) -> ChatProvider:
    """Return a provider that asks a server of the operator's choice."""
    from pegboard_provider_openai.chat import ChatProvider
    from pegboard_provider_openai.presets import preset_of

    name = preset_of(settings).api_key
    made = ChatProvider(settings, context.secret(name) if name else "", context.clock)
    await made.learn()
    return made
