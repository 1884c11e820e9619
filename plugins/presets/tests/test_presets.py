"""Commands of the operator, as a model meets them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from pegboard.testing import HostFactory, HostUnderTest

pytestmark = pytest.mark.anyio
CONFIG = {
    "sandboxes.local": {"allow_unconfined_shell": True},
    "tools": {"excluded": ["shell", "process", "terminal"]},
    "plugins.presets": {
        "commands": {
            "greet": {"command": ["echo", "hello $HOME;"], "description": "Say hello."},
            "show": {"command": ["printf", "%s|"], "arguments": True},
            "late": {"command": ["sleep", "60"], "timeout_ms": 200},
            "wipe": {"command": ["rm", "-rf"], "arguments": True},
            "fetch": {"command": ["true"], "network": True},
            "off": {"command": ["true"], "enabled": False},
        }
    },
}


@pytest.fixture
async def running(host: HostFactory) -> AsyncIterator[HostUnderTest]:
    async with host("presets", "shell", "sandbox-local", config=CONFIG, record=False) as opened:
        yield opened


async def test_a_command_is_a_tool(running: HostUnderTest) -> None:
    result = await running.call("preset_greet")
    assert result.structured["stdout"] == "hello $HOME;\n"
    assert result.text.splitlines()[-1].startswith("[exit code 0, ")


async def test_the_shell_may_be_gone_all_the_same(running: HostUnderTest) -> None:
    assert (await running.call("shell", command="true")).error is not None


async def test_arguments_are_added_only_where_that_is_said(running: HostUnderTest) -> None:
    result = await running.call("preset_show", arguments=["a b", "$(id)", "; ls"])
    assert result.structured["stdout"] == "a b|$(id)|; ls|"
    refused = await running.call("preset_greet", arguments=["x"])
    assert refused.error is not None and refused.error.code == "invalid_arguments"


async def test_its_time_is_its_own(running: HostUnderTest) -> None:
    result = await running.call("preset_late")
    assert result.error is not None and result.error.code == "timeout"
    assert "plugins.presets.commands.late.timeout_ms MILLISECONDS" in (result.error.fix or "")


async def test_a_catastrophe_is_refused_here_too(running: HostUnderTest) -> None:
    result = await running.call("preset_wipe", arguments=["/"])
    assert result.error is not None and result.error.code == "catastrophic_command"
    allow = "pegboard config set plugins.presets.commands.wipe.allow_catastrophic true"
    assert allow in (result.error.fix or "")


async def test_what_is_off_is_no_tool(running: HostUnderTest) -> None:
    assert (await running.call("preset_off")).error is not None


async def test_its_effects_are_what_the_operator_says(running: HostUnderTest) -> None:
    specs = {
        name: running.host.tool(name).spec.effects for name in ("preset_greet", "preset_fetch")
    }
    assert specs["preset_greet"] == {"read", "exec", "fs_write"}
    assert specs["preset_fetch"] == {"read", "exec", "fs_write", "net_read", "net_write"}


async def test_guests_do_not_reach_it(running: HostUnderTest) -> None:
    assert (await running.call("preset_greet", as_guest=True)).error is not None
