"""What a person is asked about a call, and what they said."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

Grain = Literal["once", "run", "always"]
"""How far a yes goes: this call, every call of the same subject in this run, or from now on."""
ApprovalState = Literal["pending", "agreed", "refused", "expired"]

GRAINS: Final[tuple[Grain, ...]] = get_args(Grain)
APPROVAL_S: Final = 60.0
"""Seconds that a question waits for its answer; silence is a no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A question about one call.

    Args:
        turn: The turn that waits.
        call: Id of the call.
        key: Key of the conversation; only there it can be answered.
        tool: Canonical name of the tool.
        subject: Hash of tool, arguments and question: what is agreed to is what runs.
        question: What the person is asked, complete in itself.
        rule: The rule that asked.
        token: What `/confirm` and `/deny` name it by; single use.
        asked_at: When, in seconds since the epoch.
        expires_at: From when on it is a no.
        state: What became of it.
        grain: How far the yes goes.
        by: Who answered: the normalised sender id, or "".
    """

    turn: str
    call: str
    key: str
    tool: str
    subject: str
    question: str
    rule: str
    token: str
    asked_at: float
    expires_at: float
    state: ApprovalState = "pending"
    grain: Grain = "once"
    by: str = ""

    def state_at(self, now: float) -> ApprovalState:
        """Return the state at a time: a question that nobody answered in time is expired."""
        return "expired" if self.state == "pending" and now >= self.expires_at else self.state


class Suspended(Exception):
    """A call waits for a person's word, and its turn with it; this attempt of the turn ends.

    Args:
        until: From when on the answer is a no, in seconds since the epoch.
    """

    def __init__(self, until: float) -> None:
        super().__init__(until)
        self.until = until


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question about a call.

    Args:
        agreed: True for a yes.
        reason: Of a no: one sentence for the model; "" = the person did not agree.
        fix: Of a no: what the model can do instead, or None.
    """

    agreed: bool
    reason: str = ""
    fix: str | None = None


AGREED: Final = Answer(True)
REFUSED: Final = Answer(False)


def subject_of(tool: str, arguments: Mapping[str, Any], question: str) -> str:
    """Return the hash that stands for what is agreed to: another call has another one.

    Args:
        tool: Canonical name of the tool.
        arguments: Arguments as they would run; what is no JSON value counts as what it is shown as.
        question: What the person is asked.
    """
    try:
        text = json.dumps(
            [tool, arguments, question], sort_keys=True, separators=(",", ":"), default=repr
        )
    except (TypeError, ValueError, RecursionError):  # keys of several types, or nested too deeply
        text = repr((tool, arguments, question))
    return hashlib.sha256(text.encode()).hexdigest()
