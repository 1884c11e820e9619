"""What holds of every provider on llmock, which breaks its answers and then judges whoever asked.

The client that it judges is the host's route with the provider in it: a provider alone never asks
twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from counterparts.asking import ECHO, Heard, answered, ask, asking, called
from counterparts.chaos import Chaos
from pegboard import Provider, SystemClock
from pegboard.providers.retry import RetryPolicy
from pegboard.providers.route import Hop, Route, RouteSession

Make = Callable[..., Provider]
QUICK = RetryPolicy(first_delay_s=0.1, budget_s=3.0)


def judged(chaos: Chaos, *, overlooked: str = "") -> None:
    """Fail when llmock has anything to say against the client.

    Args:
        chaos: The server.
        overlooked: A part of what counts for nothing.
    """
    assert [item for item in chaos.verdict() if not overlooked or overlooked not in item] == []


class OnLlmock:
    """Subclass it as `Test...` and set what is below; `make(url, **settings)` makes a provider.

    Attributes:
        model: A model that llmock knows.
        base: Where its dialect is, below llmock's address.
        path: How the paths of its requests begin.
        silent: Chunks of an answer in which no word has come yet.
        midway: Chunks after which an answer has begun.
    """

    model: ClassVar[str]
    base: ClassVar[str] = ""
    path: ClassVar[str]
    silent: ClassVar[int]
    midway: ClassVar[int]

    @pytest.fixture
    def make(self) -> Make:
        """Return what makes a provider."""
        raise AssertionError("a subclass says so")

    def routed(self, provider: Provider) -> RouteSession:
        """Return a way to ask as a host does: again where that may help."""
        hop = Hop(name="llmock", provider=provider, model=self.model)
        return Route([hop], clock=SystemClock(), retry=QUICK).session()

    async def asked(self, make: Make, chaos: Chaos, **fields: Any) -> Heard:
        """Ask as a host does."""
        provider = make(f"{chaos.url}{self.base}")
        return await ask(self.routed(provider), asking("Hello", **fields))

    @pytest.mark.parametrize(
        "fault",
        [
            {"status": 429, "retry_after": 0.4, "times": 2},
            {"status": 500},
            {"status": 500, "times": 2},
            {"status": 502},
            {"status": 503, "retry_after": 0.4, "times": 2},
            {"status": 529, "times": 2},
        ],
        ids=lambda fault: f"{fault['status']}-{fault.get('times', 1)}",
    )
    async def test_a_failure_that_passes_is_waited_out(
        self, make: Make, chaos: Chaos, fault: dict[str, Any]
    ) -> None:
        chaos.behave({"type": "fail", **fault})
        assert (await self.asked(make, chaos)).done.text
        requests = chaos.requests()
        failed = [fault["status"]] * fault.get("times", 1)
        assert [request["status"] for request in requests] == [*failed, 200]
        assert all(request["path"].startswith(self.path) for request in requests)
        judged(chaos)

    @pytest.mark.parametrize("kind", ["disconnect", "truncate"])
    async def test_a_stream_that_breaks_before_a_word_is_asked_for_again(
        self, make: Make, chaos: Chaos, kind: str
    ) -> None:
        chaos.behave({"type": "stream_fault", "kind": kind, "after_chunks": self.silent})
        found = await self.asked(make, chaos)
        assert found.text == found.done.text != ""
        assert len(chaos.requests()) == 2
        judged(chaos)

    @pytest.mark.parametrize(
        ("status", "kind"),
        [(400, "bad_request"), (401, "auth"), (403, "permission"), (404, "not_found")],
    )
    async def test_what_no_retry_mends_is_not_tried_again(
        self, make: Make, chaos: Chaos, status: int, kind: str
    ) -> None:
        chaos.behave({"type": "fail", "status": status, "times": None})
        failed = (await self.asked(make, chaos)).failed
        assert (failed.kind, failed.status) == (kind, status)
        assert len(chaos.requests()) == 1
        judged(chaos)

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
        self, make: Make, chaos: Chaos, fault: str, kind: str
    ) -> None:
        chaos.behave({"type": "reply", "text": "one two three four five six seven"})
        broken = {"kind": fault, "after_chunks": self.midway, "stall_seconds": 5.0}
        chaos.behave({"type": "stream_fault", **broken})
        found = await ask(make(f"{chaos.url}{self.base}", idle_s=0.3), asking(model=self.model))
        assert found.text
        assert found.failed.kind == kind

    async def test_a_call_of_a_tool_that_is_not_there_is_passed_on(
        self, make: Make, chaos: Chaos
    ) -> None:
        chaos.behave({"type": "tool_fault", "kind": "unknown_tool"})
        (call,) = (await self.asked(make, chaos, tools=(ECHO,))).done.calls
        assert call.name != "echo"

    async def test_a_call_and_its_result_lead_to_an_answer(self, make: Make, chaos: Chaos) -> None:
        session = self.routed(make(f"{chaos.url}{self.base}"))
        request = asking("Say it", tools=(ECHO,))
        first = (await ask(session, request)).done
        assert [call.name for call in first.calls] == ["echo"]
        assert first.usage.input > 0 and not first.usage.estimated
        grown = (*request.messages, called(*first.calls), answered((first.calls[0], "said")))
        second = (await ask(session, asking(*grown, tools=(ECHO,), state=first.state))).done
        assert (second.stop, second.calls) == ("end", ())
        assert second.text
        report = chaos.report(strict=True)  # the verdict, from its own command
        assert report.returncode == 0, report.stdout

    async def test_a_limit_of_requests_tells_when_it_ends(
        self, make: Make, chaos_with: Callable[..., Chaos]
    ) -> None:
        chaos = chaos_with("--rpm", "1")
        assert (await self.asked(make, chaos)).done.text
        failed = (await self.asked(make, chaos)).failed
        assert failed.kind == "rate_limit"
        assert failed.retry_after is not None and 1 < failed.retry_after <= 61
        assert len(chaos.requests()) == 2  # that is longer than anybody waits
        judged(chaos, overlooked="gave_up")

    async def test_a_conversation_too_long_for_the_window_is_told(
        self, make: Make, chaos_with: Callable[..., Chaos]
    ) -> None:
        chaos = chaos_with("--context-window", "5")
        provider = make(f"{chaos.url}{self.base}")
        found = await ask(provider, asking("word " * 500, model=self.model))
        assert found.failed.kind == "context_overflow"
        judged(chaos)
