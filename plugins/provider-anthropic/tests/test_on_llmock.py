"""llmock breaks its answers, the host goes on, and llmock judges what the client did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from counterparts import ECHO, Chaos, answered, ask, asking, called
from pegboard_provider_anthropic.provider import AnthropicProvider

from pegboard import SystemClock
from pegboard.providers.retry import RetryPolicy
from pegboard.providers.route import Hop, Route, RouteSession

pytestmark = pytest.mark.anyio
Make = Callable[..., AnthropicProvider]
QUICK = RetryPolicy(first_delay_s=0.1)
MODEL = "claude-sonnet-4-6"


@pytest.fixture
def route(messages: Make) -> Callable[[Chaos], RouteSession]:
    """Ask as a host does: again where that may help."""

    def make(chaos: Chaos) -> RouteSession:
        provider = messages(f"{chaos.url}/anthropic")
        hop = Hop(name="llmock", provider=provider, model=MODEL)
        return Route([hop], clock=SystemClock(), retry=QUICK).session()

    return make


def judged(chaos: Chaos) -> None:
    """Fail when llmock has anything to say against the client."""
    assert chaos.verdict() == []


@pytest.mark.parametrize(
    "fault",
    [
        {"type": "fail", "status": 429, "retry_after": 0.7},
        {"type": "fail", "status": 500},
        {"type": "fail", "status": 503},
        {"type": "fail", "status": 529, "times": 2},
        {"type": "stream_fault", "kind": "disconnect", "after_chunks": 1},
        {"type": "stream_fault", "kind": "truncate", "after_chunks": 2},
    ],
    ids=lambda fault: "-".join(str(fault[key]) for key in ("kind", "status") if key in fault),
)
async def test_what_passes_is_waited_out(
    chaos: Chaos, route: Callable[[Chaos], RouteSession], fault: dict[str, Any]
) -> None:
    chaos.behave(fault)
    found = await ask(route(chaos), asking("Hello"))
    assert found.done.text
    asked = chaos.requests()
    assert len(asked) == fault.get("times", 1) + 1
    assert {request["path"] for request in asked} == {"/anthropic/v1/messages"}
    judged(chaos)


async def test_a_piece_that_is_no_json_is_not_skipped(
    chaos_with: Callable[..., Chaos], route: Callable[[Chaos], RouteSession]
) -> None:
    chaos = chaos_with("--stream-chunk-delay-ms", "30")  # so that it sees who leaves, and when
    chaos.behave({"type": "stream_fault", "kind": "malformed", "after_chunks": 2})
    assert (await ask(route(chaos), asking("Hello"))).done.text
    assert len(chaos.requests()) == 2
    judged(chaos)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "bad_request"), (401, "auth"), (403, "permission"), (404, "not_found")],
)
async def test_what_does_not_pass_is_not_asked_again(
    chaos: Chaos, route: Callable[[Chaos], RouteSession], status: int, kind: str
) -> None:
    chaos.behave({"type": "fail", "status": status, "times": None})
    found = await ask(route(chaos), asking("Hello"))
    assert (found.failed.kind, found.failed.status) == (kind, status)
    assert len(chaos.requests()) == 1
    judged(chaos)


@pytest.mark.parametrize("kind", ["disconnect", "truncate", "malformed"])
async def test_half_an_answer_is_never_taken_for_one(
    chaos: Chaos, messages: Make, kind: str
) -> None:
    chaos.behave({"type": "stream_fault", "kind": kind, "after_chunks": 5})
    found = await ask(messages(f"{chaos.url}/anthropic", model=MODEL), asking("Hello"))
    assert found.text
    assert found.failed.kind in ("network", "protocol")


async def test_a_stream_that_stalls_is_left(chaos: Chaos, messages: Make) -> None:
    chaos.behave({"type": "stream_fault", "kind": "stall", "stall_seconds": 20.0})
    provider = messages(f"{chaos.url}/anthropic", model=MODEL, idle_s=0.3)
    assert (await ask(provider, asking("Hello"))).failed.kind == "timeout"


@pytest.mark.parametrize("fault", ["malformed_arguments", "unknown_tool"])
async def test_a_call_that_is_wrong_is_passed_on_as_it_is(
    chaos: Chaos, messages: Make, fault: str
) -> None:
    chaos.behave({"type": "tool_fault", "kind": fault})
    provider = messages(f"{chaos.url}/anthropic", model=MODEL)
    done = (await ask(provider, asking("Hello", tools=(ECHO,)))).done
    (call,) = done.calls
    assert (call.name == "echo") is (fault == "malformed_arguments")


async def test_a_call_and_its_result_lead_to_an_answer(
    chaos: Chaos, route: Callable[[Chaos], RouteSession]
) -> None:
    session, asked = route(chaos), asking("Say it", tools=(ECHO,))
    first = (await ask(session, asked)).done
    assert [call.name for call in first.calls] == ["echo"]
    grown = (*asked.messages, called(*first.calls), answered((first.calls[0], "said")))
    second = (await ask(session, asking(*grown, tools=(ECHO,), state=first.state))).done
    assert (second.stop, second.calls) == ("end", ())
    assert second.text
    report = chaos.report(strict=True)
    assert report.returncode == 0, report.stdout


async def test_a_limit_of_requests_tells_when_it_ends(
    chaos_with: Callable[..., Chaos], messages: Make
) -> None:
    chaos = chaos_with("--rpm", "1")
    provider = messages(f"{chaos.url}/anthropic", model=MODEL)
    assert (await ask(provider, asking("One"))).done.text
    failed = (await ask(provider, asking("Two"))).failed
    assert failed.kind == "rate_limit"
    assert failed.retry_after is not None
    assert 1 < failed.retry_after <= 61


async def test_a_conversation_too_long_for_the_window_is_told(
    chaos_with: Callable[..., Chaos], messages: Make
) -> None:
    chaos = chaos_with("--context-window", "5")
    provider = messages(f"{chaos.url}/anthropic", model=MODEL)
    assert (await ask(provider, asking("word " * 500))).failed.kind == "context_overflow"
