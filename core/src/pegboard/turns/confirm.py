"""The chat commands that answer a question about a call: `/confirm` and `/deny`."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Final

from pegboard.contracts.approval import GRAINS, Approval, Grain
from pegboard.contracts.audit import Audit
from pegboard.contracts.clock import Clock
from pegboard.contracts.store import Store
from pegboard.contracts.turn import OPEN_STATES
from pegboard.policy.approvals import is_lasting
from pegboard.policy.audit import audited
from pegboard.turns.commands import Command, CommandCall
from pegboard.turns.own_commands import OwnCommand

NO_SUCH: Final = (
    "There is no open question with that token here. It was answered, or its time is over."
)
_WORDS: Final = re.compile(r"(\S+)(?:\s+(\S+))?")
_SAID: Final[dict[Grain, str]] = {
    "once": "Agreed.",
    "run": "Agreed, also if it is asked again in this request.",
    "always": "Agreed, from now on. The rule is written to config.toml.",
}


class Confirmations:
    """Answers questions by their tokens.

    Only an owner can, in the conversation that the question was put in. To anybody else every token
    is one that does not exist.

    Args:
        store: Where the questions are.
        poke: Tells the engine that a conversation can go on.
        clock: Time.
        audit: Records answers.
    """

    def __init__(
        self,
        *,
        store: Store,
        poke: Callable[[str], Awaitable[None]],
        clock: Clock,
        audit: Audit,
    ) -> None:
        self._store = store
        self._poke = poke
        self._clock = clock
        self._audit = audit

    def commands(self) -> list[Command]:
        """Return the chat commands."""
        return [
            OwnCommand(
                name="confirm",
                summary="agree to a call that waits for your word",
                argument="TOKEN [run|always]",
                operator=False,  # a guest is answered like everybody whose token is wrong
                answer=self.confirm,
            ),
            OwnCommand(
                name="deny",
                summary="refuse a call that waits for your word",
                argument="TOKEN",
                operator=False,
                answer=self.deny,
            ),
        ]

    async def confirm(self, call: CommandCall) -> str:
        """Agree to what a token stands for, as far as the word behind it says."""
        match = _WORDS.fullmatch(call.argument)
        grain = next((grain for grain in GRAINS if match and match[2] in (grain, None)), None)
        if match is None or grain is None:
            return f"Write /confirm TOKEN, with nothing behind it or one of: {', '.join(GRAINS)}."
        found = await self._find(call, match[1])
        if found is None:
            return NO_SUCH
        if grain == "always":
            refused = _not_for_good(found, admin=call.caller.admin)
            if refused:
                return refused
        return _SAID[grain] if await self._answer(call, found, grain) else NO_SUCH

    async def deny(self, call: CommandCall) -> str:
        """Refuse what a token stands for."""
        found = await self._find(call, call.argument)
        if found is None or not await self._answer(call, found, None):
            return NO_SUCH
        return "Refused. The call is not run."

    async def _find(self, call: CommandCall, token: str) -> Approval | None:
        """Return the open question of a token, of this conversation or of work begun in it."""
        if call.caller.trust != "operator" or call.caller.origin != "person":
            return None
        now = self._clock.now()
        beside = [record.ref.key for record in await call.conversation.background()]
        for key in (call.conversation.key, *beside):
            for approval in await self._store.approvals(key):
                open_still = approval.state_at(now) == "pending"
                if approval.token == token.lower() and open_still and await self._waits(approval):
                    return approval
        return None

    async def _waits(self, approval: Approval) -> bool:
        """Tell whether the turn still wants to know: nobody stopped it."""
        turn = await self._store.turn(approval.turn)
        return turn is not None and not turn.cancel_asked and turn.state in OPEN_STATES

    async def _answer(self, call: CommandCall, approval: Approval, grain: Grain | None) -> bool:
        """Answer a question; None refuses. False when somebody else was quicker."""
        now = self._clock.now()
        answered = await self._store.answer(
            approval.key,
            approval.token,
            agreed=grain is not None,
            grain=grain or "once",
            by=call.caller.sender,
            now=now,
        )
        if answered is None:
            return False
        event = audited(
            "approval",
            approval.rule,
            "deny" if grain is None else "allow",
            call.caller,
            at=now,
            tool=approval.tool,
            how="person",
            run=approval.turn,
            call=approval.call,
        )
        await self._audit(event)
        await self._poke(approval.key)
        return True


def _not_for_good(approval: Approval, *, admin: bool) -> str:
    """Return why a yes to this can't last, or ""."""
    once = f"Write /confirm {approval.token}, or /confirm {approval.token} run."
    if not is_lasting(approval.rule):
        return f"This is asked each time, whatever the rules say. {once}"
    if not admin:
        return f"Only an admin can agree to something for good, since it changes the rules. {once}"
    return ""
