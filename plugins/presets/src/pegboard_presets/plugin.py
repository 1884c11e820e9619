"""Offers each command that the operator names as a tool."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from pegboard import Plugin
from pegboard_presets.tools import EFFECTS, PREFIX, PresetTool

if TYPE_CHECKING:
    from pegboard import PluginContext

plugin = Plugin(
    summary="Tools for the commands that you name.",
    config="pegboard_presets.config:PresetsSettings",
    activate="boot",
)
plugin.family(PREFIX, effects=EFFECTS)


@plugin.lifespan
async def lifespan(context: PluginContext) -> AsyncIterator[None]:
    """Offer the tools for as long as the plugin is active."""
    presets = context.config.commands.items()
    await context.families[PREFIX].replace(
        [PresetTool(name, preset) for name, preset in presets if preset.enabled]
    )
    yield
