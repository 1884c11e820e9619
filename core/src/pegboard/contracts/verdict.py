"""What the gate answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any


class Outcome(IntEnum):
    """Ordered from permissive to strict, so that the meet of several is their maximum."""

    ALLOW = 0
    ASK = 1
    DENY = 2


@dataclass(frozen=True, slots=True)
class Ask:
    """A guard's answer: a person must agree first.

    Args:
        question: What the person is asked, complete in itself.
        plugin: Id of the plugin whose guard it is; the host sets it.
    """

    question: str
    plugin: str = field(default="", compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Deny:
    """A guard's answer: no.

    Args:
        reason: Why, for the model and the person.
        fix: What to do instead, or None.
        plugin: Id of the plugin whose guard it is; the host sets it.
    """

    reason: str
    fix: str | None = None
    plugin: str = field(default="", compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about one call, with the rule that made it.

    Args:
        outcome: Allow, ask or deny.
        rule: Name of the rule (`trust.class`, `owner_only`, `filter.allowed_tools`).
        reason: One sentence for people.
        disclosed: False when the caller may not even learn that the tool exists; the answer is then
            the same as for a tool that does not.
        ask: The question, when the outcome is ASK.
        fix: The command or config line that would change the outcome, or None.
    """

    outcome: Outcome
    rule: str
    reason: str
    disclosed: bool = True
    ask: Ask | None = None
    fix: str | None = None

    @property
    def allowed(self) -> bool:
        """True when the call may run without asking."""
        return self.outcome is Outcome.ALLOW

    def meet(self, other: Verdict) -> Verdict:
        """Return the stricter of the two; this one when they are equal."""
        return other if other.outcome > self.outcome else self

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON-serialisable data."""
        return {
            "outcome": self.outcome.name.lower(),
            "rule": self.rule,
            "reason": self.reason,
            "disclosed": self.disclosed,
            "ask": self.ask.question if self.ask else None,
            "fix": self.fix,
        }
