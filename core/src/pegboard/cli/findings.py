"""What a check found: in order, worth a look, or broken, each with the command that mends it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple

from pegboard.cli.output import BAD, GOOD, PLAIN, WARN, Output, Style

Level = Literal["ok", "warning", "broken"]

_STYLES: Final[dict[str, Style]] = {"ok": GOOD, "warning": WARN, "broken": BAD}


class Finding(NamedTuple):
    """One line of a check.

    Args:
        level: `ok`, `warning` (works, but look at it) or `broken`.
        about: What was checked, in a word or two.
        message: What was found.
        fix: The one command or line that mends it, or None.
    """

    level: Level
    about: str
    message: str
    fix: str | None = None


def print_findings(output: Output, findings: Iterable[Finding]) -> None:
    """Print findings one below the other, each fix below what it mends."""
    rows: list[tuple[str, str, str]] = []
    for item in findings:
        first, *more = item.message.split("\n")
        rows.append((item.level, item.about, first))
        rows += [("", "", line) for line in more]
        if item.fix:
            rows += [("", "", line) for line in f"fix: {item.fix}".split("\n")]
    output.table(["", "CHECK", "FOUND"], rows, paint={0: lambda level: _STYLES.get(level, PLAIN)})


def findings_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return findings as `--json` shows them."""
    return {"ok": not any_broken(findings), "checks": [item._asdict() for item in findings]}


def any_broken(findings: Iterable[Finding]) -> bool:
    """Return whether something does not work."""
    return any(item.level == "broken" for item in findings)
