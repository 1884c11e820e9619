"""Which plugins are out of order without anybody having chosen that, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pegboard.config.schema import Problem
    from pegboard.plugins.decision.state import PluginRecord

SOUND: Final = frozenset({"ready", "active"})
CHOSEN: Final = frozenset({"unmanifested", "disabled", "untrusted"})
"""States that somebody chose."""


def broken(record: PluginRecord) -> bool:
    """Return whether a plugin is out of order without anybody having chosen that."""
    return record.state.value not in SOUND | CHOSEN


def broken_lines(
    records: Iterable[PluginRecord], problems: Iterable[Problem]
) -> Iterator[tuple[str, str | None]]:
    """Yield what is wrong, each with its fix or None.

    Args:
        records: The plugins.
        problems: What else is wrong.
    """
    for record in records:
        if broken(record):
            what = f"{record.id} ({record.dist} {record.version}) is {record.state.value}"
            yield f"{what}: {record.reason}", record.fix
    for problem in dict.fromkeys(problems):
        yield problem.message, problem.fix
