from __future__ import annotations

from pegboard.testing import PluginContract


class TestPlugin(PluginContract):
    plugin = "presets"
