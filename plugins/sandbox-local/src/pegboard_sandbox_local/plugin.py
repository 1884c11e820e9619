"""Keeps file tools below the granted folders; runs commands only with the operator's word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import Plugin

if TYPE_CHECKING:
    from pegboard import PluginContext
    from pegboard_sandbox_local.config import LocalSettings
    from pegboard_sandbox_local.sandbox import LocalBackend

plugin = Plugin(summary="Sandbox of this machine: file tools stay below the grants.")


@plugin.sandbox(
    "local",
    summary="File tools stay below the grants; commands need allow_unconfined_shell",
    config="pegboard_sandbox_local.config:LocalSettings",
    confines_commands=False,
    preference=90,
)
def local(context: PluginContext, settings: LocalSettings) -> LocalBackend:
    """Return the backend of this machine."""
    # imported here: a host that lists its plugins shall not load what runs processes
    from pegboard_sandbox_local.sandbox import LocalBackend

    return LocalBackend(
        allow_unconfined_shell=settings.allow_unconfined_shell, durable=settings.durable_writes
    )
