"""What a turn came to: decided once, kept with its reply, so that nothing can change it later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from pegboard.contracts.channel import TurnOutcome
from pegboard.contracts.message import Message, OutboundMessage
from pegboard.contracts.provider import NO_USAGE, Usage
from pegboard.contracts.turn import Json, OutboxPart, TurnState
from pegboard.contracts.wire import MESSAGE, OUTBOUND, USAGE, WireError
from pegboard.turns import markers

END: Final = "end"
"""Key of the conclusion in the first part of a kept reply."""
TURN_DEAD: Final = "turn_dead"
"""Code of the error of a turn that ended its host too often."""
_COUNTS: Final = ("steps", "tool_calls", "tool_failures")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """What a turn came to.

    Args:
        status: How it ended.
        text: What the person is sent, or "".
        messages: What the history keeps of it.
        answered: True when the last of `messages` is the answer that is sent.
        error: What went wrong (`{"code", "message", "fix"}`), or None.
        steps: Model calls made.
        usage: Tokens of all of them.
        tool_calls: Number of tool calls.
        tool_failures: Number of those that reported an error.
        tokens: Tokens of the last request and its answer, as the provider reported them, or None.
        at: When the reply was written; 0 = it was not.
    """

    status: Literal["done", "failed", "cancelled"]
    text: str = ""
    messages: tuple[Message, ...] = ()
    answered: bool = False
    error: Mapping[str, Any] | None = None
    steps: int = 0
    usage: Usage = NO_USAGE
    tool_calls: int = 0
    tool_failures: int = 0
    tokens: int | None = None
    at: float = 0.0

    @property
    def outcome(self) -> TurnOutcome:
        """How the turn ended, for who waits for it."""
        return TurnOutcome(
            text=self.text,
            status=self.status,
            steps=self.steps,
            usage=self.usage,
            error=None if self.error is None else dict(self.error),
            tool_calls=self.tool_calls,
            tool_failures=self.tool_failures,
        )

    @property
    def state(self) -> TurnState:
        """The state that the turn ends in."""
        dead = self.error is not None and self.error.get("code") == TURN_DEAD
        return "dead" if dead else self.status

    def stopped(self) -> Conclusion:
        """Return it as that of a turn that was stopped before its reply was sent."""
        said = (*self.messages, markers.STOPPED) if self.messages else ()
        return replace(self, status="cancelled", text="", messages=said, answered=False, error=None)

    def undelivered(self, reason: str) -> Conclusion:
        """Return it as that of a turn whose reply did not reach anybody."""
        kept = self.messages[:-1] if self.answered else self.messages
        said = (*kept, markers.UNDELIVERED) if self.messages else ()
        error = {
            "code": "delivery_failed",
            "message": "The reply could not be delivered.",
            "fix": None,
            "cause": reason,
        }
        return replace(self, status="failed", messages=said, answered=False, error=error)

    def doubted(self, reason: str) -> Conclusion:
        """Return it as that of a turn whose reply may or may not have reached somebody."""
        error = {
            "code": "delivery_in_doubt",
            "message": "It is not known whether the reply was delivered.",
            "fix": None,
            "cause": reason,
        }
        return replace(self, status="failed", error=error)


def reply_forms(conclusion: Conclusion, parts: Sequence[OutboundMessage]) -> list[Json]:
    """Return a reply as the store keeps it: its parts, and in the first what the turn came to."""
    forms = [OUTBOUND.write(part) for part in parts]
    end = _written(conclusion)
    if len(parts) == 1 and conclusion.text == parts[0].text:
        del end["text"]  # the part says it
    forms[0][END] = end
    return list(forms)


def part_message(form: Json) -> OutboundMessage:
    """Return the message of a part of a kept reply.

    Raises:
        WireError: When it is none.
    """
    return OUTBOUND.read({key: value for key, value in form.items() if key != END})


def conclusion_of(reply: Sequence[OutboxPart]) -> Conclusion | None:
    """Return what a turn came to whose reply was written, or None when it was not.

    Raises:
        WireError: When what is kept can't be read.
    """
    if not reply:
        return None
    form = reply[0].message
    try:
        data = form[END]
        return Conclusion(
            status=data["status"],
            text=data["text"] if "text" in data else part_message(form).text,
            messages=tuple(MESSAGE.read(message) for message in data["messages"]),
            answered=data["answered"],
            error=data["error"],
            usage=USAGE.read(data["usage"]),
            tokens=data["tokens"],
            at=data["at"],
            **{name: data[name] for name in _COUNTS},
        )
    except (KeyError, TypeError) as error:
        raise WireError(f"What was kept is no reply of a turn: {error!r}.") from error


def _written(conclusion: Conclusion) -> dict[str, Any]:
    return {
        "status": conclusion.status,
        "text": conclusion.text,
        "messages": [MESSAGE.write(message) for message in conclusion.messages],
        "answered": conclusion.answered,
        "error": None if conclusion.error is None else dict(conclusion.error),
        "usage": USAGE.write(conclusion.usage),
        "tokens": conclusion.tokens,
        "at": conclusion.at,
        **{name: getattr(conclusion, name) for name in _COUNTS},
    }
