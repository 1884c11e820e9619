"""Whether a message becomes a request to a model, and what of it: the hooks have their say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pegboard.agent.setup import Approve
from pegboard.contracts.approval import subject_of
from pegboard.contracts.hook_events import MessageGuardEvent, MessageInEvent
from pegboard.contracts.message import ToolCall
from pegboard.contracts.result import Suspend
from pegboard.contracts.verdict import Ask
from pegboard.tools.text_repair import repaired
from pegboard.turns.setup import Hooks, Turn

_MESSAGE: Final = ToolCall("message", "message", "")
"""What stands for a call where a guard asks about a message."""


async def transformed(turn: Turn, hooks: Hooks) -> Turn:
    """Return a turn with its message as the hooks change it."""
    original = turn.message
    event = MessageInEvent(message=original, caller=turn.caller)
    changed = (await hooks.transform("pegboard_message_in", event)).message
    # who wrote, and where, is not for a hook to say
    message = replace(
        changed,
        channel=original.channel,
        chat=original.chat,
        sender=original.sender,
        thread=original.thread,
        external_id=original.external_id,
        text=repaired(changed.text),
    )
    return replace(turn, message=message)


async def refusal(turn: Turn, hooks: Hooks, approve: Approve | None) -> dict[str, Any] | None:
    """Return why a message, as the hooks left it, is not answered; None when it is.

    Args:
        turn: The turn.
        hooks: Guards among them.
        approve: Asks the owner, or None when they are not there.

    Raises:
        Suspended: When the owner was asked and has not answered yet.
    """
    message = turn.message
    if not message.text.strip() and not message.attachments:
        return failure("empty_message", "The message is empty.", "Write something to answer.")
    if turn.taken_up:
        return None  # it was admitted before: nobody is asked about it twice
    answer = await hooks.guard(
        "pegboard_message_guard", MessageGuardEvent(message=message, caller=turn.caller)
    )
    if answer is None:
        return None
    if isinstance(answer, Ask):
        # it asks the owner: a guest's word about their own message does not count
        if approve is not None and (await approve(_MESSAGE, _asked(turn, answer))).agreed:
            return None
        return failure("denied", "This message needs a person's word, which was not given.")
    return failure("denied", answer.reason, answer.fix)


def _asked(turn: Turn, ask: Ask) -> Suspend:
    by = f" (asked by the plugin {ask.plugin})" if ask.plugin else ""
    question = f"{ask.question}{by}"
    subject = subject_of(_MESSAGE.name, {"text": turn.message.text}, question)
    rule = f"guard:{ask.plugin}" if ask.plugin else "guard"
    return Suspend(question, rule, subject, _MESSAGE.name)


def failure(code: str, message: str, fix: str | None = None) -> dict[str, Any]:
    """Return what went wrong as JSON-serialisable data."""
    return {"code": code, "message": message, "fix": fix}
