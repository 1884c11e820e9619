"""Confines commands on Linux: by bubblewrap, else by Landlock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import Plugin

if TYPE_CHECKING:
    from pegboard import PluginContext
    from pegboard_sandbox_bubblewrap.config import BubblewrapSettings, LandlockSettings
    from pegboard_sandbox_bubblewrap.landlock_sandbox import LandlockBackend
    from pegboard_sandbox_bubblewrap.sandbox import BubblewrapBackend

plugin = Plugin(summary="Sandboxes of Linux: commands are confined to what is granted.")


@plugin.sandbox(
    "bubblewrap",
    summary="Commands run in namespaces of their own, with no network unless a call needs it",
    config="pegboard_sandbox_bubblewrap.config:BubblewrapSettings",
    confines_commands=True,
    preference=10,
)
def bubblewrap(context: PluginContext, settings: BubblewrapSettings) -> BubblewrapBackend:
    """Return the backend that uses bubblewrap."""
    # imported here: a host that lists its plugins shall not load what runs processes
    from pegboard_sandbox_bubblewrap.sandbox import BubblewrapBackend

    return BubblewrapBackend(settings)


@plugin.sandbox(
    "landlock",
    summary="Commands under Landlock and a filter of system calls, where namespaces are refused",
    config="pegboard_sandbox_bubblewrap.config:LandlockSettings",
    confines_commands=True,
    preference=20,
)
def landlock(context: PluginContext, settings: LandlockSettings) -> LandlockBackend:
    """Return the backend that uses Landlock."""
    from pegboard_sandbox_bubblewrap.landlock_sandbox import LandlockBackend

    return LandlockBackend(settings)
