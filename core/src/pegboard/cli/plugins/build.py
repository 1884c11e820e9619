"""`pegboard plugins build`."""

from __future__ import annotations

from pathlib import Path

import click

from pegboard.cli import exit_codes
from pegboard.cli.output import BAD, GOOD
from pegboard.cli.session import Session, json_option


@click.command()
@click.argument("what", metavar="[FOLDER|ID]", default=".")
@click.option("--check", is_flag=True, help="Write nothing; fail when plugin.json is not current.")
@json_option
@click.pass_context
def command(ctx: click.Context, what: str, check: bool) -> None:
    """Write a plugin's plugin.json from its code, which is imported in a process of its own.

    FOLDER holds the plugin's pyproject.toml; ID is an installed plugin.
    """
    from pegboard.plugins.building.build_child import build_in_child, find_targets, stale, write

    session: Session = ctx.obj
    results = []
    for target in find_targets(Path(what) if Path(what).is_dir() else what):
        with session.output.step(f"Importing {target.id}"):
            manifest = build_in_child(target)
        differences = stale(target, manifest)
        if not check:
            write(target, manifest)
        results.append(
            {"id": target.id, "file": str(target.file), "current": not differences}
            | ({"differences": differences} if differences else {})
        )
    failed = check and not all(result["current"] for result in results)
    if session.output.json_wanted:
        session.output.json({"checked": check, "plugins": results})
    else:
        for result in results:
            _print(session, result, check=check)
    if failed:
        ctx.exit(exit_codes.FAILED)


def _print(session: Session, result: dict[str, object], *, check: bool) -> None:
    file = result["file"]
    if result["current"]:
        session.output.line(f"{file} is current.", GOOD)
        return
    if not check:
        session.output.line(f"{file} is written.", GOOD)
        return
    session.output.line(f"{file} is not current:", BAD)
    differences = result["differences"]
    for line in differences if isinstance(differences, list) else ():
        session.output.line(f"  {line}")
    session.output.line(f"  Fix: pegboard plugins build {result['id']}")
