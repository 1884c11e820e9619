"""What this package brings: the provider type `scripted`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import Plugin

if TYPE_CHECKING:
    from pegboard import PluginContext
    from pegboard_provider_scripted.config import ScriptedSettings
    from pegboard_provider_scripted.provider import ScriptedProvider

plugin = Plugin(summary="Answers from a file: turns, tool calls and faults, always the same.")


@plugin.provider(
    "scripted",
    summary="Answers from a file; no model, no key, no network",
    config="pegboard_provider_scripted.config:ScriptedSettings",
)
def scripted(context: PluginContext, settings: ScriptedSettings) -> ScriptedProvider:
    """Return a provider that plays a script."""
    # imported here: a host that lists its plugins shall not pay for it
    from pegboard_provider_scripted.provider import ScriptedProvider

    return ScriptedProvider(settings.file)
