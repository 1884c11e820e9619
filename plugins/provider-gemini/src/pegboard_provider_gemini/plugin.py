"""What this package brings: the provider type `gemini`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import Plugin

if TYPE_CHECKING:
    from pegboard import PluginContext
    from pegboard_provider_gemini.config import GeminiSettings
    from pegboard_provider_gemini.provider import GeminiProvider

plugin = Plugin(summary="Models of Google, through generateContent.")


@plugin.provider(
    "gemini",
    summary="Google's models through generateContent",
    config="pegboard_provider_gemini.config:GeminiSettings",
)
def gemini(context: PluginContext, settings: GeminiSettings) -> GeminiProvider:
    """Return a provider that asks Google."""
    # imported here: a host that lists its plugins shall not load an HTTP client
    from pegboard_provider_gemini.provider import GeminiProvider

    key = context.secret(settings.api_key) if settings.api_key else ""
    return GeminiProvider(settings, key, context.clock, context.new_id)
