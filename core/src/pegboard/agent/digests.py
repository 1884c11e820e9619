"""Older tool results of a run, shortened while it goes on, so that it stays within the window.

A digest says how long the result was, shows its beginning and names the call, by which the whole
can be read back. What was digested once stays so: the next request begins with the same bytes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pegboard.agent.compaction import THRESHOLD
from pegboard.agent.excerpt import excerpt
from pegboard.agent.groups import steps_of
from pegboard.agent.token_estimate import RESULT, text_tokens
from pegboard.contracts.message import CallResult, Message
from pegboard.contracts.result import Part, Text
from pegboard.contracts.tool import OutputLimits
from pegboard.tools.fence import fence_of, unfenced
from pegboard.tools.limits import line_count

RAW_STEPS: Final = 3
"""Steps at the end whose results stay as they are: the one being answered and the two before it."""
ROUNDS: Final = (RAW_STEPS, 1, 0)
"""The same once a provider has refused a request for its length, round by round."""
_AIM: Final = 0.7
"""Part of the limit to come down to, so that not every step has something to shorten again."""
_BEGINNING: Final = OutputLimits(chars=400, lines=8, keep="head")
_BYTES_PER_TOKEN: Final = 4

Keep = Callable[[CallResult, str, bool], Awaitable[str | None]]
"""`await keep(result, text, outside)` keeps the whole text of a result, without the marks around
what came from outside, and returns the sentence that says how to read it; None when it can't be
kept, and then the result stays as it is."""


class RunDigests:
    """Shortens the results of one run when it comes near the window.

    What it does follows from what it is told alone, so a run that is replayed after a crash is
    shortened at the same places.

    Args:
        keep: Keeps the whole of a result.
        threshold: Part of the window that a request may take.
    """

    def __init__(self, keep: Keep, *, threshold: float = THRESHOLD) -> None:
        self._keep = keep
        self._threshold = threshold
        self._digested: set[str] = set()

    async def fitted(
        self, messages: Sequence[Message], *, tokens: int, window: int
    ) -> tuple[Message, ...] | None:
        """Return a run's messages with older results shortened, or None when all may stay.

        Args:
            messages: What the run added to the conversation so far.
            tokens: Tokens of its last request and the answer to it, as the provider reported them.
            window: Tokens that the model takes.
        """
        limit = self._threshold * window
        expected = tokens + new_tokens(messages)
        if not tokens or expected <= limit:
            return None
        return await self._shortened(messages, RAW_STEPS, expected - _AIM * limit)

    async def squeezed(self, messages: Sequence[Message], round: int) -> tuple[Message, ...] | None:
        """Return them with all results shortened that may be, or None when none is left.

        Args:
            messages: What the run added to the conversation so far.
            round: How often the provider has refused this request for its length, from 1.
        """
        for raw_steps in ROUNDS[round - 1 :]:
            made = await self._shortened(messages, raw_steps, None)
            if made is not None:
                return made
        return None

    async def _shortened(
        self, messages: Sequence[Message], raw_steps: int, excess: float | None
    ) -> tuple[Message, ...] | None:
        digests: dict[str, CallResult] = {}
        saved = 0
        for result in candidates(messages, raw_steps, self._digested):
            if excess is not None and saved >= excess:
                break
            digest = await self._digest(result)
            if digest is not None:
                digests[result.call_id] = digest
                saved += text_tokens(result.text) - text_tokens(digest.text)
        if not digests:
            return None
        self._digested.update(digests)
        return with_results(messages, digests)

    async def _digest(self, result: CallResult) -> CallResult | None:
        outside = fence_of(result.text) is not None
        whole = unfenced(result.text) if outside else result.text
        if len(digest_text(result, whole, "")) >= len(result.text):
            return None
        how = await self._keep(result, whole, outside)
        if how is None:
            return None
        text = digest_text(result, whole, how)
        if len(text) >= len(result.text):
            return None
        others = tuple(part for part in result.parts if not isinstance(part, Text))
        parts: tuple[Part, ...] = (Text(text), *others)
        return replace(result, parts=parts)


def candidates(
    messages: Sequence[Message], raw_steps: int, digested: Collection[str] = ()
) -> Iterator[CallResult]:
    """Yield the results that may be shortened, the oldest first.

    Never one of a step that is not complete: its calls may still run.

    Args:
        messages: What the run added to the conversation so far.
        raw_steps: Steps at the end that stay as they are.
        digested: Ids of calls whose results are shortened already.
    """
    steps = steps_of(messages)
    for step in steps[: max(0, len(steps) - raw_steps)]:
        if not step.complete:
            return
        for place in step.answers:
            for result in messages[place].results:
                if result.call_id not in digested:
                    yield result


def with_results(
    messages: Sequence[Message], results: Mapping[str, CallResult]
) -> tuple[Message, ...]:
    """Return messages in which some results are replaced, by id of the call."""
    return tuple(
        replace(
            message,
            results=tuple(results.get(result.call_id, result) for result in message.results),
        )
        if message.results
        else message
        for message in messages
    )


def digest_text(result: CallResult, whole: str, how: str) -> str:
    """Return what stands for a result.

    Args:
        result: The result.
        whole: Its text without marks.
        how: How to read the whole.
    """
    head = (
        f"[Shortened by the host to save room: {len(whole)} characters in {line_count(whole)} "
        f"lines of {result.name}. {how}".rstrip()
    )
    return f"{head}]\n{excerpt(result.text, _BEGINNING)}"


def new_tokens(messages: Sequence[Message]) -> int:
    """Return about how many tokens came since the last answer: the results at the end."""
    bytes = count = 0
    for message in reversed(messages):
        if message.role == "assistant":
            break
        count += len(message.results)
        bytes += sum(len(result.text.encode("utf-8", "replace")) for result in message.results)
    return bytes // _BYTES_PER_TOKEN + count * RESULT
