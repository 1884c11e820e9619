"""From decisions to audit events, and from many equal events to one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from pegboard.contracts.audit import AuditEvent, AuditKind
from pegboard.contracts.caller import Caller

WINDOW_S: Final = 60.0
"""Within this time, equal events of one source are counted instead of written again."""
_MOST_WINDOWS: Final = 1_000
_MOST_CHARS: Final = 200
"""Of any text in an event: ids come from outside and could be of any length."""
_TEXTS: Final = ("rule", "tool", "channel", "sender", "agent", "job", "run", "call", "subject")


def audited(
    kind: AuditKind,
    rule: str,
    outcome: str,
    caller: Caller,
    *,
    at: float,
    tool: str = "",
    disclosed: bool = True,
    how: str = "",
    run: str = "",
    call: str = "",
    subject: str = "",
) -> AuditEvent:
    """Return the event of a decision about a caller.

    Args:
        kind: What sort of decision.
        rule: Name of the rule that decided.
        outcome: `allow`, `ask` or `deny`.
        caller: Whom it was about.
        at: Seconds since the epoch.
        tool: Canonical name of the tool, or "".
        disclosed: False when the caller is answered as if there were no such tool.
        how: How a question was answered, or "".
        run: Id of the run, or "".
        call: Id of the call, or "".
        subject: What an admin changed, or "".
    """
    return AuditEvent(
        at=at,
        kind=kind,
        rule=rule,
        outcome=outcome,
        tool=tool,
        disclosed=disclosed,
        how=how,
        trust="operator" if caller.trust == "operator" else "guest",
        origin=caller.origin,
        channel=caller.channel,
        sender=caller.sender,
        agent=caller.agent,
        depth=caller.depth,
        job=caller.job,
        run=run,
        call=call,
        subject=subject,
    )


def fit_to_keep(event: AuditEvent, redact: Callable[[str], str]) -> AuditEvent:
    """Return an event with secrets taken out of its texts and none of them too long.

    Args:
        event: The event.
        redact: Returns a text without the secrets in it.
    """
    changed: dict[str, Any] = {}
    for name in _TEXTS:
        text = getattr(event, name)
        kept = redact(text)[:_MOST_CHARS]
        if kept != text:
            changed[name] = kept
    return replace(event, **changed) if changed else event


@dataclass(slots=True)
class _Window:
    """Repetitions of one event.

    Args:
        first: The event that was written.
        last: The latest one like it.
        repeats: How many came after the first.
    """

    first: AuditEvent
    last: AuditEvent
    repeats: int = 0


class Folding:
    """Lets the first of equal events pass, counts the others, and tells the count afterwards.

    Equal means: the same in everything but time and the ids of run and call. So a caller that
    tries the same thing a thousand times a minute fills two lines and not a thousand.

    Args:
        window_s: Seconds from the first event on in which others are counted.
        most: Windows open at once; beyond that the oldest is closed early.
    """

    def __init__(self, window_s: float = WINDOW_S, most: int = _MOST_WINDOWS) -> None:
        self._window_s = window_s
        self._most = most
        self._windows: dict[AuditEvent, _Window] = {}

    def add(self, event: AuditEvent) -> list[AuditEvent]:
        """Take one event and return those to write now."""
        written = self.due(event.at)
        key = replace(event, at=0.0, run="", call="", count=1, since=None)
        window = self._windows.get(key)
        if window is not None:
            window.repeats += event.count
            window.last = event
            return written
        while len(self._windows) >= self._most:
            written.extend(_told(self._windows.pop(next(iter(self._windows)))))
        self._windows[key] = _Window(event, event)
        return [*written, event]

    def due(self, now: float) -> list[AuditEvent]:
        """Close the windows whose time is over and return the events that tell their counts.

        A clock that was set back closes them too: their time can't be told any more.
        """
        over = [
            key
            for key, window in self._windows.items()
            if not 0 <= now - window.first.at < self._window_s
        ]
        return [event for key in over for event in _told(self._windows.pop(key))]

    def flush(self) -> list[AuditEvent]:
        """Close all windows and return the events that tell their counts."""
        windows, self._windows = self._windows, {}
        return [event for window in windows.values() for event in _told(window)]

    @property
    def counting(self) -> bool:
        """True while some count has not been told yet."""
        return any(window.repeats for window in self._windows.values())


def _told(window: _Window) -> Iterator[AuditEvent]:
    if window.repeats:
        yield replace(window.last, count=window.repeats, since=window.first.at)
