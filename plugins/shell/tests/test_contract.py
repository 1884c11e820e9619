from __future__ import annotations

from pegboard.testing import PluginContract, ToolContract


class TestPlugin(PluginContract):
    plugin = "shell"


class TestShell(ToolContract):
    tool = "shell:shell"
    needs = ("sandbox-local",)
    config = {"sandboxes.local": {"type": "local", "allow_unconfined_shell": True}}  # noqa: RUF012
    works = ({"command": "echo hi"}, {"command": "exit 3", "description": "Fail"})
    fails = (
        ({"command": "sleep 30", "timeout_ms": 200}, "timeout"),
        ({"command": "echo a\0b"}, "invalid_arguments"),
        ({"command": "true", "working_dir": "/etc"}, "sandbox_refused"),
    )


class TestShellWithoutTheOperatorsWord(ToolContract):
    tool = "shell:shell"
    needs = ("sandbox-local",)
    works = ({"command": "echo hi"},)
    fails = (({"command": "echo hi"}, "sandbox_refused"),)
    test_it_works = None  # it does not: that is what the operator has to allow
