"""What this package brings: the provider type `offline`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import Plugin

if TYPE_CHECKING:
    from pegboard import PluginContext
    from pegboard_provider_offline.provider import OfflineProvider

plugin = Plugin(summary="Runs the tools you name and reports what they say; no model, no key.")


@plugin.provider("offline", summary="Deterministic responder: tool calls and phrases, no model.")
def make_provider(context: PluginContext, settings: Any) -> OfflineProvider:
    """Return the responder; it has no settings."""
    # imported here: reading what the package brings shall not pay for anyio
    from pegboard_provider_offline.provider import OfflineProvider

    return OfflineProvider()
