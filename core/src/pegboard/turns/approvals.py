"""Questions about calls: answered already, put to the person who is there, or kept until they are.

A question that is kept ends the attempt of its turn; the answer, or the end of its time, begins the
next one, which comes to the same call and finds the answer.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from pegboard.contracts.approval import (
    AGREED,
    APPROVAL_S,
    REFUSED,
    Answer,
    Approval,
    Suspended,
)
from pegboard.contracts.audit import Audit
from pegboard.contracts.caller import Caller
from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.message import ToolCall
from pegboard.contracts.result import Suspend
from pegboard.contracts.store import Store
from pegboard.contracts.stream import Noticed
from pegboard.plugins.building.isolation import one_line
from pegboard.policy.approvals import UNASKED_FIX
from pegboard.policy.audit import audited
from pegboard.turns.setup import Turn

CACHE_S: Final = 60.0
"""Seconds for which an answer also counts for the same call asked about again."""
_MOST_CACHED: Final = 1_000
_NOBODY: Final = Answer(
    False,
    "This call needs a person's word and nobody is there to give it, so it was not run.",
    UNASKED_FIX,
)
_EXPIRED: Final = Answer(
    False, "The person did not answer in time, so the call was not run.", UNASKED_FIX
)
_REFUSED_BEFORE: Final = Answer(
    False,
    "The person has just refused exactly this call, so they were not asked again and it was not "
    "run.",
    "Do not try it again; say what you wanted to do.",
)
_log = logging.getLogger(__name__)

Keep = Callable[[Suspend, Caller], Awaitable[None]]
"""Writes a rule that lets exactly this call pass from now on; raises `PegboardError`."""


class _Said(NamedTuple):
    agreed: bool
    at: float


class ApprovalDesk:
    """Puts questions to people, and remembers for a short while what they said. One for a host.

    Args:
        store: Keeps what can't be answered at once.
        clock: Time.
        new_token: Returns a word that nobody can guess.
        audit: Records answers.
        can_be_asked: Tells whether an owner is there for a caller.
        keep: Makes a yes last, or None when nothing can be kept.
    """

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        new_token: Callable[[], str],
        audit: Audit,
        can_be_asked: Callable[[Caller], bool],
        keep: Keep | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.new_token = new_token
        self.audit = audit
        self.can_be_asked = can_be_asked
        self.keep = keep
        self.told: set[str] = set()
        """Tokens that this host has told a person."""
        self._said: dict[tuple[str, str], _Said] = {}

    def approver(self, turn: Turn) -> TurnApprovals:
        """Return what asks about the calls of one attempt of a turn."""
        return TurnApprovals(self, turn)

    def said(self, key: str, subject: str) -> bool | None:
        """Return what was said about this in this conversation a moment ago, or None."""
        said = self._said.get((key, subject))
        fresh = said is not None and 0 <= self.clock.monotonic() - said.at < CACHE_S
        return said.agreed if said is not None and fresh else None

    def remember(self, key: str, subject: str, *, agreed: bool) -> None:
        """Remember an answer for a short while."""
        self._said.pop((key, subject), None)
        while len(self._said) >= _MOST_CACHED:
            del self._said[next(iter(self._said))]
        self._said[key, subject] = _Said(agreed, self.clock.monotonic())


class TurnApprovals:
    """Answers the questions about the calls of one attempt of a turn; an `Approve`.

    Args:
        desk: What all turns share.
        turn: The turn, with what was asked in earlier attempts of it.
    """

    def __init__(self, desk: ApprovalDesk, turn: Turn) -> None:
        self._desk = desk
        self._turn = turn
        known = () if turn.begun is None else turn.begun.approvals.values()
        self._known = tuple(known)
        self._run = {
            approval.subject
            for approval in self._known
            if approval.state == "agreed" and approval.grain != "once"
        }

    async def __call__(self, call: ToolCall, asked: Suspend) -> Answer:
        """Return the answer to a question about a call.

        Raises:
            Suspended: When the person was asked and has not answered yet.
        """
        caller = self._turn.caller
        if caller.trust != "operator" or caller.depth:  # nor does another's yes count for them
            await self._record(call, asked, "deny", "nobody")
            return _NOBODY
        stored = self._stored(call, asked)
        if stored is not None:
            return await self._answered(stored, call, asked)
        if asked.subject in self._run:
            await self._record(call, asked, "allow", "run")
            return AGREED
        said = self._desk.said(self._turn.conversation, asked.subject)
        if said is not None:
            await self._record(call, asked, "allow" if said else "deny", "cache")
            return AGREED if said else _REFUSED_BEFORE
        if not self._desk.can_be_asked(caller):
            await self._record(call, asked, "deny", "nobody")
            return _NOBODY
        if self._turn.reply.can_ask:
            return await self._inline(call, asked)
        return await self._kept(call, asked)

    def _stored(self, call: ToolCall, asked: Suspend) -> Approval | None:
        """Return what was asked about exactly this before."""
        return next(
            (
                approval
                for approval in self._known
                if approval.subject == asked.subject and _call_of(approval) == call.id
            ),
            None,
        )

    async def _answered(self, approval: Approval, call: ToolCall, asked: Suspend) -> Answer:
        """Go by a question that was kept: by its answer, or the end of its time."""
        state = approval.state_at(self._desk.clock.now())
        if state == "pending":
            await self._tell(approval, asked)
            raise Suspended(approval.expires_at)
        if state == "expired":
            await self._record(call, asked, "deny", "expired")
            return _EXPIRED
        agreed = state == "agreed"
        self._desk.remember(approval.key, asked.subject, agreed=agreed)
        if agreed and approval.grain == "always":
            await self._keep(asked)
        return AGREED if agreed else REFUSED

    async def _inline(self, call: ToolCall, asked: Suspend) -> Answer:
        try:
            agreed = await self._turn.reply.ask(asked.question)
        except Exception as error:
            _log.warning("a channel could not put a question: %s", one_line(error))
            return await self._kept(call, asked)
        self._desk.remember(self._turn.conversation, asked.subject, agreed=agreed)
        await self._record(call, asked, "allow" if agreed else "deny", "person")
        return AGREED if agreed else REFUSED

    async def _kept(self, call: ToolCall, asked: Suspend) -> Answer:
        """Keep the question, tell the person how to answer it, and end this attempt."""
        turn, desk = self._turn, self._desk
        # a kept question belongs to a turn; what is answered beside the turns is none
        if turn.begun is None or not turn.caller.slash_commands:
            await self._record(call, asked, "deny", "nobody")
            return _NOBODY
        now = desk.clock.now()
        # one call can be asked about for more than one reason, each with an answer of its own
        again = any(_call_of(approval) == call.id for approval in self._known)
        approval = await desk.store.ask(
            Approval(
                turn=turn.id,
                call=f"{call.id}#{asked.subject}" if again else call.id,
                key=turn.conversation,
                tool=asked.tool,
                subject=asked.subject,
                question=asked.question,
                rule=asked.rule,
                token=desk.new_token(),
                asked_at=now,
                expires_at=now + APPROVAL_S,
            )
        )
        return await self._answered(approval, call, asked)

    async def _tell(self, approval: Approval, asked: Suspend) -> None:
        """Tell the person of a question, once by each host: its own words may have been lost."""
        if approval.token in self._desk.told:
            return
        if await self._send(self._words(approval, asked)):
            self._desk.told.add(approval.token)

    async def _send(self, text: str) -> bool:
        reply = self._turn.reply
        try:
            await reply.deliver(reply.message(text))
        except Exception as error:
            _log.warning("a question did not reach the person: %s", one_line(error))
            return False
        return True

    def _words(self, approval: Approval, asked: Suspend) -> str:
        token = approval.token
        seconds = max(1, round(approval.expires_at - self._desk.clock.now()))
        lines = [
            _verbatim(asked.question),
            "",
            f"`/confirm {token}` agrees, `/deny {token}` refuses, within {seconds} s.",
            f"`/confirm {token} run` agrees to the same again in this request.",
        ]
        if asked.lasting and self._turn.caller.admin:
            lines.append(f"`/confirm {token} always` agrees to exactly this from now on.")
        return "\n".join(lines)

    async def _keep(self, asked: Suspend) -> None:
        """Make a yes last; when that fails it still counts for this request."""
        desk, turn = self._desk, self._turn
        try:
            if desk.keep is not None and asked.lasting:
                await desk.keep(asked, turn.caller)
        except PegboardError as error:
            _log.warning("an approval could not be kept: %s", error.message)
            text = f"This can't be agreed to for good: {error.message}. {error.fix or ''}".rstrip()
            await turn.emit(Noticed(code="approval_not_kept", text=text))
            if not turn.reply.shows_events:
                await self._send(text)

    async def _record(self, call: ToolCall, asked: Suspend, outcome: str, how: str) -> None:
        event = audited(
            "approval",
            asked.rule,
            outcome,
            self._turn.caller,
            at=self._desk.clock.now(),
            tool=asked.tool,
            how=how,
            run=self._turn.id,
            call=call.id,
        )
        await self._desk.audit(event)


def _verbatim(text: str) -> str:
    """Return text as Markdown that shows every character of it: what is agreed to must be seen."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _call_of(approval: Approval) -> str:
    return approval.call.partition("#")[0]
