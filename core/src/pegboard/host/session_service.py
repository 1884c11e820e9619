"""The service `sessions`: what tools may see of the conversations of whoever calls them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pegboard.agent.excerpt import excerpt
from pegboard.contracts.archive import Archive, Scope
from pegboard.contracts.errors import PluginError, UsageError
from pegboard.contracts.message import Message
from pegboard.contracts.session import SaidMessage, SessionHit, SessionInfo, SessionTurn
from pegboard.contracts.store import Store
from pegboard.contracts.tool import OutputLimits
from pegboard.contracts.transcript import Conversation, TurnMessages
from pegboard.contracts.wire import MESSAGE
from pegboard.conversations.short_id import matching, short_id, unclear
from pegboard.tools.current_call import current_call
from pegboard.tools.run_scope import CallRequest

EVERYWHERE: Final = "*"
MOST: Final = 100
_SAID: Final = OutputLimits(chars=4_000, keep="both")
"""How much of one message a tool is shown."""


class SessionService:
    """The caller's own conversations; implements `Sessions`.

    Whose they are follows from the call that is being answered, which dispatch knows, and from
    nothing that a tool hands in.

    Args:
        store: The store.
        archive: What it can find.
    """

    def __init__(self, store: Store, archive: Archive) -> None:
        self._store = store
        self._archive = archive

    async def list(self, *, limit: int = 20) -> Sequence[SessionInfo]:
        """Return the caller's conversations, the one that last changed first."""
        call = _call()
        found = await self._own(call, _within(limit))
        return [_info(item, call) for item in found]

    async def status(self, session: str = "") -> SessionInfo:
        """Return one conversation."""
        call = _call()
        found = await self._named(call, session)
        tokens = (await self._store.transcript(found.key)).tokens
        return _info(found, call, tokens)

    async def history(
        self, session: str = "", *, before: int | None = None, limit: int = 20
    ) -> Sequence[SessionTurn]:
        """Return turns of a conversation that have ended, the oldest of them first."""
        found = await self._named(_call(), session)
        turns = await self._archive.said(found.key, before=before, limit=_within(limit))
        return [_turn(turn) for turn in turns]

    async def search(
        self, query: str, *, session: str = EVERYWHERE, limit: int = 20
    ) -> Sequence[SessionHit]:
        """Return turns in which all words occur, else those with some, the best first."""
        call = _call()
        scope = _scope(call)
        if session != EVERYWHERE:
            scope = Scope(key=(await self._named(call, session)).key)
        hits = await self._archive.search(query, scope, limit=_within(limit))
        known = {item.key: item for item in await self._own(call, None)} if hits else {}
        return [
            SessionHit(
                session=_info(known[hit.key], call), seq=hit.seq, at=hit.at, excerpt=hit.excerpt
            )
            for hit in hits
            if hit.key in known
        ]

    async def _own(self, call: CallRequest, limit: int | None) -> Sequence[Conversation]:
        return await self._archive.conversations(_scope(call), limit=limit)

    async def _named(self, call: CallRequest, session: str) -> Conversation:
        """Return the conversation of the caller that a text names."""
        if session:
            own = await self._own(call, None)
        else:
            session = call.run.conversation
            if not session or call.caller.depth:
                raise UsageError("This call is part of no conversation.", fix="Name a session.")
            own = await self._archive.conversations(Scope(key=session))
        match = matching(session, [item.key for item in own])
        if len(match.keys) != 1:
            raise UsageError(unclear(session, match), fix="Call sessions_list for their ids.")
        return next(item for item in own if item.key == match.keys[0])


def _call() -> CallRequest:
    call = current_call.get()
    if call is None:
        raise PluginError(
            "The service sessions answers only during a call of a tool.",
            fix="Ask for conversations in the tool itself, not in a lifespan or a hook.",
        )
    return call


def _scope(call: CallRequest) -> Scope:
    """Return what a caller may see: a guest where they are, an operator what is theirs."""
    caller, here = call.caller, call.run.conversation
    if caller.depth:
        return Scope()  # work that was delegated has no part in what was said
    if caller.trust != "operator":
        return Scope(key=here)
    return Scope(sender=caller.sender, agent=caller.agent)


def _within(limit: int) -> int:
    return max(1, min(limit, MOST))


def _info(found: Conversation, call: CallRequest, tokens: int | None = None) -> SessionInfo:
    return SessionInfo(
        id=short_id(found.key),
        key=found.key,
        channel=found.channel,
        agent=found.agent,
        title=found.title,
        turns=found.turns,
        open=found.open,
        current=found.key == call.run.conversation,
        tokens=tokens,
        created_at=found.created_at,
        updated_at=found.updated_at,
    )


def _turn(turn: TurnMessages) -> SessionTurn:
    messages = map(MESSAGE.read, turn.messages)
    said = tuple(_said(message) for message in messages if message.role in ("user", "assistant"))
    return SessionTurn(seq=turn.seq, at=turn.at, messages=said)


def _said(message: Message) -> SaidMessage:
    return SaidMessage(
        role=message.role,
        text=excerpt(message.text, _SAID),
        calls=tuple(call.name for call in message.calls),
    )
