"""`pegboard plugins new`."""

from __future__ import annotations

from pathlib import Path

import click

from pegboard.cli.session import Session, json_option
from pegboard.contracts.errors import UsageError
from pegboard.scaffold import KINDS


@click.command()
@click.argument("name")
@click.option(
    "--kind", type=click.Choice(KINDS), default=KINDS[0], show_default=True, help="What it brings."
)
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the project; made when missing.  [default: ./pegboard-NAME]",
)
@click.option("--summary", default="", help="One line that says what the plugin does.")
@click.option("--author", default="", help="Who wrote it.")
@json_option
@click.pass_obj
def command(
    session: Session, name: str, kind: str, directory: Path | None, summary: str, author: str
) -> None:
    """Make the project of a new plugin: it installs, and its tests pass, as it is."""
    from pegboard.cli.root import root
    from pegboard.scaffold import render

    if kind == "command" and name in root.lazy:
        raise UsageError(
            f"`pegboard {name}` is Pegboard's own command and stays so.",
            fix=f"pegboard plugins new my-{name} --kind command",
        )
    given = {"summary": summary, "author": author}
    answers = {key: value for key, value in given.items() if value}
    folder = directory or Path(f"pegboard-{name}")
    with session.output.step(f"Writing {folder}"):
        written = render(kind, name, folder, answers)
    if session.output.json_wanted:
        session.output.json({"folder": str(folder), "files": [str(file) for file in written]})
        return
    session.output.line(f"The plugin {name} is in {folder}. Next:")
    session.output.line(f"  pip install --editable {folder}")
    session.output.line(f"  pegboard plugins test {folder}")
    session.output.line(f"  pegboard plugins show {name}")
