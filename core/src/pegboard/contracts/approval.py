"""What a person is asked about a call, and what they said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Grain = Literal["once", "run", "always"]
"""How far a yes goes: this call, every call of the same subject in this run, or from now on."""
ApprovalState = Literal["pending", "agreed", "refused", "expired"]

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
