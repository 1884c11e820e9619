"""What this package brings: the provider type `local`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import Plugin

if TYPE_CHECKING:
    from pegboard import PluginContext
    from pegboard_provider_local.config import LocalSettings
    from pegboard_provider_local.provider import LocalProvider

plugin = Plugin(summary="Runs a model on this machine: any GGUF file, with llama.cpp.")


@plugin.provider(
    "local",
    summary="A GGUF model on this machine; no key, no network",
    config="pegboard_provider_local.config:LocalSettings",
)
def local(context: PluginContext, settings: LocalSettings) -> LocalProvider:
    """Return a provider that asks a model which it runs itself."""
    # imported here: a host that lists its plugins shall not load an HTTP client
    from pegboard_provider_local.provider import LocalProvider

    return LocalProvider(settings, context.data_dir, context.clock)
