"""`pegboard trust`: whose AGENTS.md and settings are read."""

from __future__ import annotations

from pathlib import Path

import click

from pegboard.cli.session import Session, json_option
from pegboard.config.trust import FolderTrust
from pegboard.contracts.errors import UsageError


@click.command("trust")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=".")
@click.option("--no", "refuse", is_flag=True, help="Never trust it, and don't ask again.")
@click.option("--forget", is_flag=True, help="Forget the answer; you will be asked again.")
@click.option("--list", "listing", is_flag=True, help="List all answers and change nothing.")
@json_option
@click.pass_obj
def command(session: Session, folder: Path, refuse: bool, forget: bool, listing: bool) -> None:
    """Trust a folder's AGENTS.md and settings.

    What a folder says becomes part of the agent's instructions, so it is read only when you trust
    the folder. An answer holds for this one folder, not for those below it.
    """
    trust = FolderTrust(session.paths)
    if not listing:
        _answer(session, trust, folder, refuse=refuse, forget=forget)
    if session.output.json_wanted:
        folders = {str(path): trusted for path, trusted in trust.all().items()}
        session.output.json({"folders": folders})
    elif listing:
        rows = [(str(path), "trusted" if yes else "refused") for path, yes in trust.all().items()]
        if rows:
            session.output.table(["FOLDER", "ANSWER"], rows)
        else:
            session.output.line("No folder was trusted or refused yet.")


def _answer(
    session: Session, trust: FolderTrust, folder: Path, *, refuse: bool, forget: bool
) -> None:
    resolved = folder.resolve()
    if forget:
        if not trust.forget(resolved):
            raise UsageError(f"There is no answer about {resolved}.", fix="pegboard trust --list")
        said = f"The answer about {resolved} is forgotten."
    else:
        if not resolved.is_dir():
            raise UsageError(f"{resolved} is not a folder.", fix="pegboard trust FOLDER")
        trust.set(resolved, not refuse)
        said = f"{resolved} is {'refused' if refuse else 'trusted'}."
    if not session.output.json_wanted:
        session.output.line(said)
