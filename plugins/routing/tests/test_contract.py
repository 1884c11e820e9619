from __future__ import annotations

from pegboard.testing import PluginContract, ToolContract


class TestPlugin(PluginContract):
    plugin = "routing"


class TestTool(ToolContract):
    tool = "routing:model_routing_config"
    needs = ("sandbox-local", "provider-offline")
    works = ({}, {"action": "view"})
    fails = (
        ({"action": "set"}, "usage"),
        ({"action": "set", "provider": "ofline"}, "usage"),
        ({"action": "set", "fallbacks": ["nobody/large"]}, "usage"),
        ({"effort": "enormous"}, "invalid_arguments"),
    )
