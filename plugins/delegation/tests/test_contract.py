from __future__ import annotations

from pegboard.testing import PluginContract, ToolContract


class TestPlugin(PluginContract):
    plugin = "delegation"


class TestSubagents(ToolContract):
    tool = "delegation:subagents"
    needs = ("provider-offline", "files", "sandbox-local")
    works = (
        {"tasks": [{"goal": "/list_dir"}, {"goal": "/file_read path=a.txt", "context": "x"}]},
        {"tasks": [{"goal": "Say hello"}], "result_format": "concise", "timeout_s": 10},
    )
    fails = (
        ({"tasks": []}, "invalid_arguments"),
        ({"tasks": [{"goal": "x"}], "provider": "nobody"}, "plugin_error"),
        ({"tasks": [{"goal": "x", "agent": "nobody"}]}, "usage"),
    )


class TestHandoff(ToolContract):
    tool = "delegation:handoff"
    config = {"agents.main.delegates": ["other"], "agents.other.description": "Does the rest"}  # noqa: RUF012
    works = ({"agent": "other"}, {"agent": "other", "message": "Go on."})
    fails = (({"agent": "nobody"}, "not_found"),)
