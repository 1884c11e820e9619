"""Against llmock, which breaks its answers and then judges whoever asked.

The client that it judges is the host's route with these providers in it: a provider alone never
asks twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from counterparts import ECHO, Chaos, Heard, ask, asking

from pegboard import Arg, Plugin, Provider, SystemClock, ToolContext
from pegboard.providers.retry import RetryPolicy
from pegboard.providers.route import Hop, Route
from pegboard.testing import HostFactory

pytestmark = pytest.mark.anyio
Make = Callable[..., Provider]
MODEL = "gpt-4o"
QUICK = RetryPolicy(first_delay_s=0.1, budget_s=3.0)


@pytest.fixture(params=["chat", "responses"])
def make(request: pytest.FixtureRequest) -> Make:
    """Make a provider of either type."""
    return request.getfixturevalue(request.param)


async def asked(provider: Provider, **fields: Any) -> Heard:
    """Ask as a host does: with retries."""
    route = Route([Hop(name="x", provider=provider, model=MODEL)], clock=SystemClock(), retry=QUICK)
    return await ask(route.session(), asking("Hello", **fields))


def well_done(chaos: Chaos, *, overlooked: str = "") -> None:
    """Fail unless llmock has nothing to say against the client."""
    assert [item for item in chaos.verdict() if not overlooked or overlooked not in item] == []


async def test_an_answer_and_a_call(make: Make, chaos: Chaos) -> None:
    provider = make(chaos.url)
    assert (await asked(provider)).done.text
    done = (await asked(provider, tools=(ECHO,))).done
    assert [call.name for call in done.calls] == ["echo"]
    assert done.usage.input > 0 and not done.usage.estimated
    well_done(chaos)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
async def test_a_failure_that_passes_is_waited_out(make: Make, chaos: Chaos, status: int) -> None:
    chaos.behave({"type": "fail", "status": status, "retry_after": 0.4, "times": 2})
    assert (await asked(make(chaos.url))).done.text
    assert [request["status"] for request in chaos.requests()] == [status, status, 200]
    well_done(chaos)


async def test_a_failure_that_says_not_how_long_is_retried_ever_later(
    make: Make, chaos: Chaos
) -> None:
    chaos.behave({"type": "fail", "status": 500, "times": 2})
    assert (await asked(make(chaos.url))).done.text
    assert len(chaos.requests()) == 3
    well_done(chaos)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "bad_request"), (401, "auth"), (403, "permission"), (404, "not_found")],
)
async def test_what_no_retry_mends_is_not_tried_again(
    make: Make, chaos: Chaos, status: int, kind: str
) -> None:
    chaos.behave({"type": "fail", "status": status, "times": None})
    assert (await asked(make(chaos.url))).failed.kind == kind
    assert len(chaos.requests()) == 1
    well_done(chaos)


async def test_an_outage_ends_after_a_few_attempts(make: Make, chaos: Chaos) -> None:
    chaos.behave({"type": "fail", "status": 503, "times": None})
    assert (await asked(make(chaos.url))).failed.kind == "overloaded"
    assert len(chaos.requests()) == 3
    report = chaos.report(strict=True)  # the same verdict, from its own command
    assert report.returncode == 0, report.stdout


@pytest.mark.parametrize("fault", ["disconnect", "truncate", "malformed", "stall"])
async def test_a_stream_that_breaks_before_a_word_is_asked_for_again(
    make: Make, chaos: Chaos, fault: str
) -> None:
    chaos.behave({"type": "stream_fault", "kind": fault, "after_chunks": 1, "stall_seconds": 5.0})
    found = await asked(make(chaos.url, idle_s=0.3))
    assert found.text == found.done.text != ""
    assert len(chaos.requests()) == 2
    # it sends all the rest before it can see that nobody reads on
    well_done(chaos, overlooked="malformed_chunk_ignored")


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("disconnect", "network"),
        ("truncate", "network"),
        ("malformed", "protocol"),
        ("stall", "timeout"),
    ],
)
async def test_a_stream_that_breaks_midway_is_never_taken_for_an_answer(
    make: Make, chaos: Chaos, fault: str, kind: str
) -> None:
    chaos.behave({"type": "reply", "text": "one two three four five six seven"})
    chaos.behave({"type": "stream_fault", "kind": fault, "after_chunks": 6, "stall_seconds": 5.0})
    found = await ask(make(chaos.url, idle_s=0.3), asking(model=MODEL))
    assert found.text
    assert found.failed.kind == kind


async def test_a_stream_of_a_call_that_breaks_runs_nothing(make: Make, chaos: Chaos) -> None:
    call = {"name": "echo", "arguments": {"text": "a long text to be streamed in pieces"}}
    chaos.behave({"type": "reply", "tool_calls": [call]})
    chaos.behave({"type": "stream_fault", "kind": "truncate", "after_chunks": 4})
    found = await ask(make(chaos.url), asking(model=MODEL, tools=(ECHO,)))
    assert found.failed.kind == "network"


async def test_a_quota_tells_its_real_wait(make: Make, chaos_with: Callable[..., Chaos]) -> None:
    chaos = chaos_with("--rpm", "1")
    provider = make(chaos.url)
    assert (await asked(provider)).done.text
    failed = (await asked(provider)).failed
    assert failed.kind == "rate_limit"
    assert failed.retry_after is not None and 20 < failed.retry_after <= 61
    assert failed.reset_at is not None
    assert len(chaos.requests()) == 2  # that is longer than anybody waits
    well_done(chaos, overlooked="gave_up")


async def test_a_prompt_that_is_too_long_is_an_overflow(
    make: Make, chaos_with: Callable[..., Chaos]
) -> None:
    chaos = chaos_with("--context-window", "5")
    found = await ask(make(chaos.url), asking("word " * 100, model=MODEL))
    assert found.failed.kind == "context_overflow"
    well_done(chaos)


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
    well_done(chaos)


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
    well_done(chaos)


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
    well_done(chaos, overlooked="gave_up")
