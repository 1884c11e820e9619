from __future__ import annotations

from pegboard_provider_offline.provider import OfflineProvider

from pegboard.testing import PluginContract, ProviderContract


class TestPlugin(PluginContract):
    plugin = "provider-offline"


class TestOfflineProvider(ProviderContract):
    def make_provider(self) -> OfflineProvider:
        return OfflineProvider()
