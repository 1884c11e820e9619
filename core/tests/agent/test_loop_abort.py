"""A run that the host lets call nothing more ends there, and says why."""

from __future__ import annotations

import pytest

from pegboard.agent.loop import run_loop
from pegboard.contracts.message import Message
from pegboard.contracts.result import DENIAL_BREAKER, Terminate, ToolResult
from pegboard.providers.pairing import paired
from pegboard.testing import Call

pytestmark = pytest.mark.anyio

ASK = [Message.of("user", "go")]


def refused(reason=DENIAL_BREAKER):
    result = ToolResult.failed("denied", "No.")
    result.control = Terminate(reason)
    return result


async def test_a_run_that_was_refused_too_often_ends_without_asking_again(bench):
    bench.tools = {"stop": refused, "look": lambda: "seen"}
    result = await run_loop(bench.setup([[Call("look"), Call("stop")], "never asked"]), ASK)
    assert (result.status, result.steps, result.terminated) == ("failed", 1, False)
    assert result.error["code"] == "denial_breaker"
    assert "audit list" in result.error["fix"]
    assert tuple(paired(result.messages)) == result.messages
    assert result.messages[-1].results[0].text == "seen"


async def test_a_tool_can_not_abort_a_run_for_another_reason_or_without_an_error(bench):
    bench.tools = {
        "other": lambda: refused("because"),
        "well": lambda: ToolResult("ok", control=Terminate(DENIAL_BREAKER)),
    }
    result = await run_loop(bench.setup([Call("other"), "It did not work."]), ASK)
    assert (result.status, result.text) == ("done", "It did not work.")
    result = await run_loop(bench.setup([Call("well"), "never asked"]), ASK)
    assert (result.status, result.terminated) == ("done", True)
