"""llmock breaks its answers, the host goes on, and llmock judges what the client did."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from counterparts import ECHO, Chaos
from counterparts.on_llmock import Make, OnLlmock, judged

pytestmark = pytest.mark.anyio


class TestMessages(OnLlmock):
    model = "claude-sonnet-4-6"
    base = "/anthropic"
    path = "/anthropic/v1/messages"
    silent = 1
    midway = 5

    @pytest.fixture
    def make(self, messages: Make) -> Make:
        return messages

    async def test_a_piece_that_is_no_json_is_not_skipped(
        self, make: Make, chaos_with: Callable[..., Chaos]
    ) -> None:
        chaos = chaos_with("--stream-chunk-delay-ms", "30")  # so that it sees who leaves, and when
        chaos.behave({"type": "stream_fault", "kind": "malformed", "after_chunks": 2})
        assert (await self.asked(make, chaos)).done.text
        assert len(chaos.requests()) == 2
        judged(chaos)

    async def test_arguments_that_are_wrong_are_passed_on_as_they_are(
        self, make: Make, chaos: Chaos
    ) -> None:
        chaos.behave({"type": "tool_fault", "kind": "malformed_arguments"})
        (call,) = (await self.asked(make, chaos, tools=(ECHO,))).done.calls
        assert call.name == "echo"
