"""`pegboard plugins list`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from pegboard.cli.output import WARN, Output
from pegboard.cli.plugins.view import (
    explain,
    missing_requirements,
    name_clashes,
    provides,
    provides_text,
    state_style,
    to_json,
)
from pegboard.cli.session import Session, json_option
from pegboard.config.nearest import nearest
from pegboard.contracts.errors import UsageError

if TYPE_CHECKING:
    from pegboard.config.schema import Problem
    from pegboard.plugins.decision.state import PluginRecord

_SLOWEST: Final = 5
"""Manifests that `--times` shows, slowest first."""


@click.command()
@click.option(
    "--provides", "kind", metavar="KIND", help="Only those that bring a KIND (tool, provider, ...)."
)
@click.option("--times", is_flag=True, help="Say how long each phase of boot took.")
@json_option
@click.pass_obj
def command(session: Session, kind: str | None, times: bool) -> None:
    """List the installed plugins and their states."""
    timings: dict[str, float] | None = {} if times else None
    boot = session.boot_with(timings=timings)
    problems = (*boot.problems, *name_clashes(boot), *missing_requirements(boot))
    records = boot.records if kind is None else _providing(boot.records, kind)
    if session.output.json_wanted:
        data: dict[str, Any] = {
            "plugins": [to_json(record) for record in records],
            "problems": [problem._asdict() for problem in problems],
        }
        if timings is not None:
            data["times_ms"] = {
                phase: round(seconds * 1000, 3) for phase, seconds in timings.items()
            }
        session.output.json(data)
        return
    _print(session.output, records, () if kind else problems, everything=kind is None)
    if timings is not None:
        _print_times(session.output, timings)


def _providing(records: Sequence[PluginRecord], kind: str) -> list[PluginRecord]:
    from pegboard.plugins.decision.kinds import KINDS

    by_record = [(record, provides(record.manifest)) for record in records]
    known = {"tool", "hook", "service", *KINDS, *(key for _, found in by_record for key in found)}
    asked = kind.lower().replace("-", "_")
    forms = (asked, asked.removesuffix("s"), asked.removesuffix("es"))
    wanted = next((form for form in forms if form in known), None)
    if wanted is None:
        near = nearest(kind, known)
        raise UsageError(
            f"There is no kind of contribution {kind!r}; kinds are: {', '.join(sorted(known))}.",
            fix=f"pegboard plugins list --provides {near}" if near else None,
        )
    return [record for record, found in by_record if wanted in found]


def _print(
    output: Output,
    records: Sequence[PluginRecord],
    problems: Iterable[Problem],
    *,
    everything: bool,
) -> None:
    if not records:
        output.line(
            "No plugin is installed." if everything else "No plugin provides that.",
        )
        if everything:
            output.line("Install the standard ones: pip install pegboard-standard")
    else:
        output.table(
            ["PLUGIN", "VERSION", "STATE", "PROVIDES"],
            [
                (
                    record.id,
                    record.version,
                    record.state.value,
                    provides_text(provides(record.manifest)),
                )
                for record in records
            ],
            paint={2: state_style},
        )
    for record in records:
        if record.reason:
            explain(output, record)
    for problem in problems:
        output.line()
        output.line(f"Warning: {problem.message}", WARN)
        output.fields([("fix", problem.fix or "")], indent="  ")


def _print_times(output: Output, timings: dict[str, float]) -> None:
    phases = {name: seconds for name, seconds in timings.items() if ":" not in name}
    parts = {name: seconds for name, seconds in timings.items() if ":" in name}
    slowest = sorted(parts.items(), key=lambda item: item[1], reverse=True)[:_SLOWEST]
    rows = [*phases.items(), ("all of it", sum(phases.values())), *slowest]
    output.line()
    output.table(
        ["PHASE", "MS"],
        [(name.replace(":", " of "), f"{seconds * 1000:.1f}") for name, seconds in rows],
        right=frozenset({1}),
    )
