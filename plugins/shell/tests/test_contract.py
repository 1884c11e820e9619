from __future__ import annotations

from pegboard.testing import PluginContract, ToolContract

ALLOWED = {"sandboxes.local": {"type": "local", "allow_unconfined_shell": True}}


class TestPlugin(PluginContract):
    plugin = "shell"


class TestShell(ToolContract):
    tool = "shell:shell"
    needs = ("sandbox-local",)
    config = ALLOWED
    works = ({"command": "echo hi"}, {"command": "exit 3", "description": "Fail"})
    fails = (
        ({"command": "sleep 30", "timeout_ms": 200}, "timeout"),
        ({"command": "echo a\0b"}, "invalid_arguments"),
        ({"command": "true", "working_dir": "/etc"}, "sandbox_refused"),
    )


class TestProcess(ToolContract):
    tool = "shell:process"
    needs = ("sandbox-local",)
    config = ALLOWED
    works = ({"action": "list"},)
    fails = (
        ({"action": "log", "handle": "p9"}, "not_found"),
        ({"action": "send", "handle": "", "command": "x"}, "not_found"),
        ({"action": "kill", "handle": "t1"}, "not_found"),
    )


class TestTerminal(ToolContract):
    tool = "shell:terminal"
    needs = ("sandbox-local",)
    config = ALLOWED
    works = (
        {"action": "list"},
        {"action": "create", "command": "echo hi", "wait_ms": 5000},
    )
    fails = (
        ({"action": "read", "handle": "t9"}, "not_found"),
        ({"action": "create", "command": "echo a\0b"}, "invalid_arguments"),
    )


class TestShellWithoutTheOperatorsWord(ToolContract):
    tool = "shell:shell"
    needs = ("sandbox-local",)
    works = ({"command": "echo hi"},)
    fails = (({"command": "echo hi"}, "sandbox_refused"),)
    test_it_works = None  # it does not: that is what the operator has to allow
