"""llmock breaks its answers, the host goes on, and llmock judges what the client did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from counterparts import ECHO, Chaos, ask, asking
from counterparts.on_llmock import Make, OnLlmock, judged

from pegboard import Arg, Plugin, ToolContext
from pegboard.testing import HostFactory

pytestmark = pytest.mark.anyio
MODEL = "gpt-4o"


class TestBoth(OnLlmock):
    model = MODEL
    path = "/v1/"
    silent = 1
    midway = 6

    @pytest.fixture(params=["chat", "responses"])
    def make(self, request: pytest.FixtureRequest) -> Make:
        return request.getfixturevalue(request.param)

    async def test_an_outage_ends_after_a_few_attempts(self, make: Make, chaos: Chaos) -> None:
        chaos.behave({"type": "fail", "status": 503, "times": None})
        assert (await self.asked(make, chaos)).failed.kind == "overloaded"
        assert len(chaos.requests()) == 3
        judged(chaos)

    @pytest.mark.parametrize("kind", ["malformed", "stall"])
    async def test_a_stream_that_goes_wrong_before_a_word_is_asked_for_again(
        self, make: Make, chaos: Chaos, kind: str
    ) -> None:
        fault = {"kind": kind, "after_chunks": 1, "stall_seconds": 5.0}
        chaos.behave({"type": "stream_fault", **fault})
        found = await ask(self.routed(make(chaos.url, idle_s=0.3)), asking("Hello"))
        assert found.text == found.done.text != ""
        assert len(chaos.requests()) == 2
        # it sends all the rest before it can see that nobody reads on
        judged(chaos, overlooked="malformed_chunk_ignored")

    async def test_a_stream_of_a_call_that_breaks_runs_nothing(
        self, make: Make, chaos: Chaos
    ) -> None:
        call = {"name": "echo", "arguments": {"text": "a long text to be streamed in pieces"}}
        chaos.behave({"type": "reply", "tool_calls": [call]})
        chaos.behave({"type": "stream_fault", "kind": "truncate", "after_chunks": 4})
        found = await ask(make(chaos.url), asking(model=MODEL, tools=(ECHO,)))
        assert found.failed.kind == "network"


# --- in a host, with a tool that really runs -----------------------------------------------------


def speaking(on: Callable[[str], None] = lambda text: None) -> Plugin:
    """Return a plugin whose tool `echo` calls `on` with each text."""
    plugin = Plugin(summary="Returns what it gets")

    @plugin.tool(effects={"read"}, category="test")
    async def echo(ctx: ToolContext, text: Annotated[str, Arg("What to return")]) -> str:
        """Return a text unchanged."""
        on(text)
        return text

    return plugin


def at(chaos: Chaos, type: str) -> dict[str, Any]:
    made = {"type": type, "base_url": f"{chaos.url}/v1", "api_key": "", "model": MODEL}
    if type != "openai":
        made["server"] = "other"
    return {"agent.provider": "x", "providers.x": made}


@pytest.mark.parametrize("type", ["openai", "openai-compatible"])
async def test_a_tool_is_run_and_its_result_is_answered(
    host: HostFactory, chaos: Chaos, type: str
) -> None:
    async with host("provider-openai", inline={"words": speaking()}, config=at(chaos, type)) as it:
        chaos.behave(
            {"type": "reply", "tool_calls": [{"name": "echo", "arguments": {"text": "a"}}]}
        )
        outcome = await it.ask("Use the tool echo")
    assert outcome.status == "done", outcome.error
    assert it.recorder.types().count("tool_finished") == 1
    assert len(chaos.requests()) == 2
    judged(chaos)


@pytest.mark.parametrize("type", ["openai", "openai-compatible"])
@pytest.mark.parametrize("fault", ["malformed_arguments", "unknown_tool"])
async def test_a_broken_call_becomes_a_result_that_says_so(
    host: HostFactory, chaos: Chaos, type: str, fault: str
) -> None:
    async with host("provider-openai", inline={"words": speaking()}, config=at(chaos, type)) as it:
        chaos.behave({"type": "tool_fault", "kind": fault})
        outcome = await it.ask("Use the tool echo")
    assert outcome.status == "done", outcome.error
    assert len(chaos.requests()) >= 2
    judged(chaos)


@pytest.mark.parametrize("type", ["openai", "openai-compatible"])
async def test_a_limit_in_the_third_step_runs_nothing_again_and_says_when_it_ends(
    host: HostFactory, chaos: Chaos, type: str
) -> None:
    for word in ("a", "b"):
        call = {"name": "echo", "arguments": {"text": word}}
        chaos.behave({"type": "reply", "tool_calls": [call]})

    def limit(text: str) -> None:
        if text == "b":
            chaos.behave({"type": "fail", "status": 429, "retry_after": 1806})

    inline = {"words": speaking(limit)}
    async with host("provider-openai", inline=inline, config=at(chaos, type)) as it:
        outcome = await it.ask("Use the tool echo")
    assert outcome.status == "failed"
    assert it.recorder.types().count("tool_started") == 2
    assert "Try again in about 31 min" in (outcome.error or {})["message"]
    judged(chaos, overlooked="gave_up")
