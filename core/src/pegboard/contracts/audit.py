"""What the audit log keeps of a decision: who asked, what for, which rule answered. No content."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal, get_args

from pegboard.contracts.effects import Trust

AuditKind = Literal["deny", "ask", "approval", "origin_rejected", "control_plane", "admin"]
"""A refusal; a question to a person; the answer to one; a request from where none may come;
a request to change the host itself; a change that an admin made."""

AUDIT_KINDS: Final[tuple[AuditKind, ...]] = get_args(AuditKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One decision. It holds no argument, no result, no message and no secret.

    Args:
        at: Seconds since the epoch; for a repetition, when it last happened.
        kind: What sort of decision.
        rule: Name of the rule that decided.
        outcome: `allow`, `ask` or `deny`.
        tool: Canonical name of the tool, or "" where none is concerned.
        disclosed: False when the caller was answered as if there were no such tool.
        how: How a question was answered: `person`, `run` (agreed to for the whole run), `cache`
            (answered a moment ago), `expired` (nobody answered), `nobody` (none was there); else
            "".
        trust: Trust of the caller.
        origin: Who started the action.
        channel: Channel instance, or "".
        sender: Sender id, or "".
        agent: Id of the named agent.
        depth: 0 at the top level; anything else is delegated.
        job: Id of the scheduled job, or "".
        run: Id of the run, or "".
        call: Id of the call within the run, or "".
        count: How often it happened: more than 1 only for repetitions of an event before it.
        since: For a repetition, when the first one happened; else None.
        subject: What an admin changed: keys of settings, names of secrets and plugins, granted
            folders; never a value. Else "".
    """

    at: float
    kind: AuditKind
    rule: str
    outcome: str
    tool: str = ""
    disclosed: bool = True
    how: str = ""
    trust: Trust = "guest"
    origin: str = ""
    channel: str = ""
    sender: str = ""
    agent: str = ""
    depth: int = 0
    job: str = ""
    run: str = ""
    call: str = ""
    count: int = 1
    since: float | None = None
    subject: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the event as JSON-serialisable data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AuditEvent:
        """Read what `to_dict` made; what a later version added is left out.

        Raises:
            TypeError: When something that every event has is missing.
        """
        known = {item.name for item in fields(cls)}
        return cls(**{name: value for name, value in data.items() if name in known})


Audit = Callable[[AuditEvent], Awaitable[None]]
"""Records an event. Never raises for a log that can't be written: a decision stands without it."""
