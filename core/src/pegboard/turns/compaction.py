"""Conversations that come near the model's window: made shorter between turns, never within one."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import anyio

from pegboard.agent.compaction import (
    KEEP_TURNS,
    LEAST_TOKENS,
    THRESHOLD,
    CompactionError,
    PastTurn,
    due,
    plan,
    request_of,
    summary_messages,
    summary_of,
)
from pegboard.contracts.channel import Emit
from pegboard.contracts.clock import Clock
from pegboard.contracts.provider import ModelCaps
from pegboard.contracts.store import Store
from pegboard.contracts.stream import Noticed
from pegboard.contracts.transcript import TurnMessages
from pegboard.contracts.wire import MESSAGE
from pegboard.plugins.building.isolation import one_line
from pegboard.providers.chat import chat
from pegboard.providers.hop import Admit, OnAttempt
from pegboard.providers.route import Route
from pegboard.turns.commands import CommandCall

if TYPE_CHECKING:
    from pegboard.turns.setup import TurnLimits

BACKOFF_S: Final = 60.0
"""Seconds after a failure in which a conversation is left as it is."""
SUMMARY_S: Final = 120.0
"""Seconds that a model may take to write a summary."""
NOTICE: Final = (
    "Older parts of this conversation were replaced by a summary, to stay within the model's "
    "context window."
)
NOTHING: Final = "There is not enough in this conversation yet to make it shorter."
DONE: Final = "This conversation was made shorter: a summary stands for what was said before."
_ASKED_KEEPS: Final = 1
_ASKED_LEAST: Final = 200
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionSettings:
    """The section `[compaction]`.

    Args:
        enabled: False = only when a person asks for it.
        threshold: Part of the window from which on a conversation is made shorter.
    """

    enabled: bool = True
    threshold: float = THRESHOLD

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> CompactionSettings:
        """Return the settings of a valid configuration."""
        return cls(
            enabled=bool(section.get("enabled", True)),
            threshold=float(section.get("threshold", THRESHOLD)),
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    """Who is asked for a summary, and who is told of that."""

    route: Route
    on_attempt: OnAttempt | None
    admit: Admit | None

    @property
    def caps(self) -> ModelCaps:
        """What the model can take whose window counts."""
        return self.route.primary.capabilities(self.route.primary.model)


class Compactor:
    """Lets summaries stand for older turns.

    Tokens are those that the provider reported for the last request of a conversation. Once it was
    made shorter that number says nothing any more, so the store forgets it: nothing happens again
    before the next turn was measured.

    Args:
        store: Where the history is.
        clock: Time.
        settings: When to act.
    """

    def __init__(
        self, store: Store, clock: Clock, settings: CompactionSettings | None = None
    ) -> None:
        self.settings = settings or CompactionSettings()
        self._store = store
        self._clock = clock
        self._failed: dict[str, float] = {}
        self._locks: dict[str, anyio.Lock] = {}

    async def preflight(
        self,
        key: str,
        route: Route,
        emit: Emit,
        *,
        added: int = 0,
        on_attempt: OnAttempt | None = None,
        admit: Admit | None = None,
    ) -> bool:
        """Make a conversation shorter before its next turn if need be; True when it was.

        Whatever fails, the turn may go on: it is logged, and nothing is tried again for a minute.

        Args:
            key: The conversation; none of its turns runs.
            route: Who is asked for the summary, and whose window counts.
            emit: Takes the notice.
            added: Tokens that the new message will add, estimated.
            on_attempt: Called after every request to a provider, or None.
            admit: Called before every request, or None.
        """
        return await self._if_due(key, _Asked(route, on_attempt, admit), emit, added)

    async def after(
        self,
        key: str,
        route: Route,
        emit: Emit,
        *,
        on_attempt: OnAttempt | None = None,
        admit: Admit | None = None,
    ) -> bool:
        """Do the same after a turn whose reply was sent; off the way of the reply."""
        return await self._if_due(key, _Asked(route, on_attempt, admit), emit, 0)

    async def now(
        self,
        key: str,
        route: Route,
        *,
        on_attempt: OnAttempt | None = None,
        admit: Admit | None = None,
    ) -> str:
        """Make a conversation shorter because a person asked for it, and say what came of it.

        Raises:
            CompactionError, ProviderError: When no summary came about; says why.
            BudgetError: When a model may not be asked for one.
        """
        asked = _Asked(route, on_attempt, admit)
        async with self._alone(key):
            made = await self._compact(key, asked, keep_turns=_ASKED_KEEPS, least=_ASKED_LEAST)
        return DONE if made else NOTHING

    async def _if_due(self, key: str, asked: _Asked, emit: Emit, added: int) -> bool:
        if not self.settings.enabled or self._backs_off(key):
            return False
        async with self._alone(key):
            try:
                tokens = (await self._store.transcript(key)).tokens
                expected = None if tokens is None else tokens + added
                if not due(expected, asked.caps.context, self.settings.threshold):
                    return False
                made = await self._compact(key, asked, keep_turns=KEEP_TURNS, least=LEAST_TOKENS)
            except Exception as error:
                self._back_off(key, error)
                return False
        if made:
            await emit(Noticed(code="compacted", text=NOTICE))
        return made

    async def _compact(self, key: str, asked: _Asked, *, keep_turns: int, least: int) -> bool:
        caps = asked.caps
        turns = past_turns((await self._store.transcript(key)).turns)
        planned = plan(turns, window=caps.context, keep_turns=keep_turns, least=least)
        if planned is None:
            return False
        request = request_of(planned, caps, idempotency_key=f"summary:{key}:{planned.through}")
        with anyio.move_on_after(SUMMARY_S) as patience:
            answer = await chat(
                asked.route, request, on_attempt=asked.on_attempt, admit=asked.admit
            )
        if patience.cancelled_caught:
            raise CompactionError(
                f"The model wrote no summary within {SUMMARY_S:g} s.", fix="Try /compact again."
            )
        messages = summary_messages(planned, summary_of(answer))
        return await self._store.summarize(
            key,
            through=planned.through,
            messages=[MESSAGE.write(message) for message in messages],
            tokens=None,
            now=self._clock.now(),
        )

    def _backs_off(self, key: str) -> bool:
        now = self._clock.monotonic()
        for other in [other for other, until in self._failed.items() if until <= now]:
            del self._failed[other]
        return key in self._failed

    def _back_off(self, key: str, error: Exception) -> None:
        self._failed[key] = self._clock.monotonic() + BACKOFF_S
        _log.warning("a conversation could not be made shorter: %s", one_line(error))
        _log.info("the conversation %s stays as it is for now", key, exc_info=error)

    @asynccontextmanager
    async def _alone(self, key: str) -> AsyncIterator[None]:
        """Let one at a time work on a conversation: who comes second finds it done."""
        lock = self._locks.setdefault(key, anyio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked():
                self._locks.pop(key, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactCommand:
    """The chat command `/compact`; a turn of its conversation, so that no other one runs.

    Args:
        compactor: Does it.
        route: Returns whom the agent of a conversation asks, by the conversation's key.
        changed: Told of the key of a conversation that was made shorter.
        limits: What the request for a summary counts for, or None.
    """

    compactor: Compactor
    route: Callable[[str], Awaitable[Route]]
    changed: Callable[[str], None]
    limits: TurnLimits | None = None
    name: str = "compact"
    summary: str = "let a summary stand for what was said here"
    operator: bool = True
    argument: str = ""
    bypass: bool = False
    everywhere: bool = False

    async def run(self, call: CommandCall) -> str:
        """Make the conversation shorter and say what came of it."""
        key, limits = call.conversation.key, self.limits
        route = await self.route(key)
        if limits is None:
            told = await self.compactor.now(key, route)
        else:
            # it belongs to the conversation and to the day; the turn of a command is no run
            told = await self.compactor.now(
                key,
                route,
                on_attempt=lambda attempt: limits.spent(attempt, call.caller, "", key),
                admit=lambda *model: limits.admit(call.caller, "", key, *model),
            )
        self.changed(key)
        return told


def past_turns(turns: Sequence[TurnMessages]) -> list[PastTurn]:
    """Return what the store keeps of a conversation as messages.

    Raises:
        WireError: When something that was kept can't be read.
    """
    return [
        PastTurn(
            seq=turn.seq,
            messages=tuple(MESSAGE.read(message) for message in turn.messages),
            summary=turn.summary,
        )
        for turn in turns
    ]
