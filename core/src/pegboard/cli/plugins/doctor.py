"""`pegboard plugins doctor`: everything about plugins that can be checked without importing one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from pegboard.cli import exit_codes
from pegboard.cli.contributed import contributed
from pegboard.cli.findings import Finding, Level, any_broken, findings_json, print_findings
from pegboard.cli.plugins.edited import edited_manifest
from pegboard.cli.plugins.pip import Pip
from pegboard.cli.plugins.view import broken, name_clashes
from pegboard.cli.session import Session, json_option
from pegboard.contracts.errors import PegboardError
from pegboard.plugins.discovery.first_party import FIRST_PARTY
from pegboard.plugins.discovery.scan import normalized

if TYPE_CHECKING:
    from pegboard.plugins.decision.boot import Boot
    from pegboard.plugins.decision.state import PluginRecord


@click.command()
@json_option
@click.pass_context
def command(ctx: click.Context) -> None:
    """Check every plugin without importing any; exit code 1 when something is broken."""
    session: Session = ctx.obj
    findings = [*state_findings(session.boot), *_files(session.boot), *_requirements(session)]
    if session.output.json_wanted:
        session.output.json(findings_json(findings))
    elif findings:
        print_findings(session.output, findings)
    else:
        session.output.line("No plugin is installed: pip install pegboard-standard")
    if any_broken(findings):
        ctx.exit(exit_codes.FAILED)


def state_findings(boot: Boot) -> list[Finding]:
    """Return what manifests and settings tell about each plugin, and about all together."""
    found = [finding for record in boot.records for finding in _of_record(record)]
    found += [
        Finding("warning", problem.path or "plugins", problem.message, problem.fix)
        for problem in (*boot.problems, *name_clashes(boot))
    ]
    found += _required(boot)
    found += _commands(boot)
    return found


def _commands(boot: Boot) -> Iterator[Finding]:
    """Yield the commands of plugins that nobody can call."""
    from pegboard.cli.root import root

    for name, items in contributed(boot.records).items():
        dists = " and ".join(record.dist for record, _ in items)
        fix = f"pegboard plugins disable {items[-1][0].id}"
        if name in root.lazy:
            message = f"{dists} bring this command, which is Pegboard's own and stays so."
            yield Finding("warning", name, message, fix)
        elif len(items) > 1:
            yield Finding("warning", name, f"{dists} both bring this command.", fix)


def _of_record(record: PluginRecord) -> Iterator[Finding]:
    state = record.state.value
    if broken(record):
        yield Finding("broken", record.id, f"{state}: {record.reason}", record.fix)
    elif record.usable and not record.reason:
        yield Finding("ok", record.id, state)
    else:
        level: Level = "ok" if state in ("disabled", "untrusted") else "warning"
        words = f"{state}: {record.reason}" if record.reason else state
        yield Finding(level, record.id, words, record.fix if level == "warning" else None)
    if record.manifest is not None and record.manifest.unknown:
        keys = ", ".join(record.manifest.unknown)
        yield Finding(
            "warning",
            record.id,
            f"Its manifest has keys that this version does not know: {keys}.",
            "pip install --upgrade pegboard",
        )
    if record.id in FIRST_PARTY and not record.first_party:
        yield Finding(
            "warning",
            record.id,
            f"{record.dist} uses the id of a plugin that Pegboard ships.",
            f"pegboard plugins inspect {record.dist}",
        )


def _required(boot: Boot) -> Iterator[Finding]:
    usable = {record.id for record in boot.usable}
    for name in boot.config.get("plugins.required", ()):
        if name not in usable:
            yield Finding(
                "broken",
                name,
                "It is in [plugins] required and can't be used.",
                f"pegboard plugins why {name}",
            )


def _files(boot: Boot) -> Iterator[Finding]:
    """Yield what pip does not look after: files of two owners, and files changed since."""
    from pegboard.plugins.discovery.installed_files import missing_files, overlaps

    for dists, files in overlaps(boot.path):
        shown = shorten(files)
        yield Finding(
            "broken",
            dists[0],
            f"{' and '.join(dists)} both own {shown}; the last one installed wins, and removing "
            "either breaks the other.",
            f"pip uninstall {dists[-1]}",
        )
    for record in boot.records:
        gone = missing_files(record.found)
        changed = edited_manifest(record.found.location)
        fix = f"pip install --force-reinstall --no-deps {record.dist}=={record.version}"
        if gone:
            yield Finding("broken", record.id, f"Files are missing: {shorten(gone)}.", fix)
        elif changed:
            message = f"{changed} is not the one that was installed."
            yield Finding("warning", record.id, message, fix)


def shorten(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _requirements(session: Session) -> Iterator[Finding]:
    dists = {normalized(record.dist): record for record in session.boot.records}
    try:
        lines = Pip(session.output, session.env).check()
    except PegboardError as error:
        yield Finding("warning", "pip", error.message, error.fix)
        return
    for line in lines:
        record = dists.get(normalized(line.split(" ")[0]))
        if record is not None:
            yield Finding("broken", record.id, line, _requirement_fix(record, line))


def _requirement_fix(record: PluginRecord, line: str) -> str:
    """Return the command that installs what a line of `pip check` says is missing or too old."""
    from pegboard.plugins.decision.mending import another_version
    from pegboard.plugins.discovery.requirements import applying

    words = {normalized(word.strip(",;.")) for word in re.split(r"[\s<>=!~]+", line)[2:]}
    for requirement in applying(record.found.requires):
        if normalized(requirement.name) in words:
            return f"pip install '{requirement.name}{requirement.range}'"
    return another_version(record.found)
