"""What this package brings: the provider type `anthropic`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import Plugin

if TYPE_CHECKING:
    from pegboard import PluginContext
    from pegboard_provider_anthropic.config import AnthropicSettings
    from pegboard_provider_anthropic.provider import AnthropicProvider

plugin = Plugin(summary="Models of Anthropic, and of every server that speaks Messages.")


@plugin.provider(
    "anthropic",
    summary="Anthropic's models through Messages",
    config="pegboard_provider_anthropic.config:AnthropicSettings",
)
def anthropic(context: PluginContext, settings: AnthropicSettings) -> AnthropicProvider:
    """Return a provider that asks Anthropic."""
    # imported here: a host that lists its plugins shall not load an HTTP client
    from pegboard_provider_anthropic.provider import AnthropicProvider

    key = context.secret(settings.api_key) if settings.api_key else ""
    return AnthropicProvider(settings, key, context.clock)
