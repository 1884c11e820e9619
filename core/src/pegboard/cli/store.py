"""`pegboard store`: a copy of the store, its check and its numbers; also while a host runs."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pegboard.cli import exit_codes
from pegboard.cli.fault import tell
from pegboard.cli.lazy_group import LazyGroup
from pegboard.cli.output import BAD, GOOD, WARN
from pegboard.cli.session import Session, json_option
from pegboard.cli.stored import require_embedded

if TYPE_CHECKING:
    from pegboard.store.backup import Stats

_COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "backup": (
        "store:backup_command",
        "Copy the store as it is at this moment to FILE, and check the copy.",
    ),
    "check": ("store:check_command", "Look at every page, index and reference of the store."),
    "stats": ("store:stats_command", "Count what is in the store."),
    "prune": ("prune:command", "Erase what is kept no longer."),
}
_UNITS: Final = ("B", "kB", "MB", "GB")
_STEP: Final = 1000


@click.group("store", cls=LazyGroup, lazy=_COMMANDS)
def group() -> None:
    """Copy, check and count what the host keeps.

    The store is one file, pegboard.db in the state folder: conversations, turns, replies, questions
    and the audit log. All of this works while a host is running, and disturbs none.
    """


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--all", "whole", is_flag=True, help="Copy all that is kept, to a folder FILE.")
@click.option("--replace", is_flag=True, help="Replace FILE when it is there.")
@json_option
@click.pass_obj
def backup_command(session: Session, file: Path, whole: bool, replace: bool) -> None:
    """Copy the store as it is at this moment to FILE, and check the copy.

    That is what was said, asked and decided. With --all FILE becomes a folder that also has the
    blobs (images, files, large results), what plugins keep in their storage (what `pegboard undo`
    needs, for one), and your settings. No copy has secrets, logs, caches, and files that a plugin
    keeps elsewhere.

    To go back to it: end every host, put it in the place of pegboard.db in the state folder, and
    remove pegboard.db-wal and pegboard.db-shm beside it; or put the folders `state`, `data` and
    `config` in the place of yours.
    """
    from pegboard.contracts.errors import StoreError
    from pegboard.store.backup import back_up

    path = _path(session)
    if path is None:
        raise StoreError(f"There is no store in {session.paths.state} yet.", fix="pegboard chat")
    if whole:
        _back_up_all(session, file, replace)
        return
    if file.is_dir():
        raise StoreError(f"{file} is a folder.", fix=f"pegboard store backup --all {file}")
    made = back_up(path, file, replace=replace)
    if session.output.json_wanted:
        session.output.json(made.to_dict())
    else:
        session.output.line(f"The store is copied to {made.path}: {_bytes(made.size)}.", GOOD)


def _back_up_all(session: Session, folder: Path, replace: bool) -> None:
    from pegboard.store.backup_all import back_up_all

    made = back_up_all(session.paths, folder, replace=replace)
    if session.output.json_wanted:
        session.output.json(made.to_dict())
        return
    session.output.line(
        f"All is copied to {made.path}: {_bytes(made.size)}. Beside the store: blobs "
        f"{made.blobs}, files of plugins {made.databases - 1}, of settings {made.settings}.",
        GOOD,
    )
    session.output.line("Without secrets: set them again with `pegboard secret set` where needed.")


@click.command("check")
@json_option
@click.pass_obj
def check_command(session: Session) -> None:
    """Look at every page, index and reference of the store.

    Ends with 1 when something is wrong. `pegboard audit verify` checks the audit log in it.
    """
    from pegboard.store.backup import Check, check
    from pegboard.store.migrations import MIGRATIONS

    path = _path(session)
    found = Check(version=0, problems=()) if path is None else check(path)
    output = session.output
    if output.json_wanted:
        output.json(found.to_dict())
    elif path is None:
        output.line("Nothing was stored yet.")
    elif found.problems:
        output.line(f"The store {path} is damaged:", BAD)
        for problem in found.problems:
            output.line(f"  {problem}")
        output.note(f"  Fix: put back a copy, or: mv {path} {path}.damaged", GOOD)
    else:
        output.line(f"The store is sound: version {found.version}.", GOOD)
        newest = MIGRATIONS[-1].version
        if found.version > newest:
            tell(
                output,
                f"A newer Pegboard has written it: this one knows version {newest}.",
                "pip install --upgrade pegboard",
                title="Warning",
            )
    if found.problems:
        raise click.exceptions.Exit(exit_codes.FAILED)


@click.command("stats")
@json_option
@click.pass_obj
def stats_command(session: Session) -> None:
    """Count what is in the store."""
    from pegboard.store.backup import stats

    path = _path(session)
    found = None if path is None else stats(path)
    output = session.output
    if output.json_wanted:
        output.json({"path": None} if found is None else {"path": str(path), **found.to_dict()})
    elif found is None:
        output.line("Nothing was stored yet.")
    else:
        _print(session, found)


def _print(session: Session, found: Stats) -> None:
    output = session.output
    output.line(
        f"{_bytes(found.size)}, and {_bytes(found.log_size)} that wait to be moved into it; "
        f"{_bytes(found.free)} of it are free. Version {found.version}."
    )
    output.table(
        ["TABLE", "ROWS"],
        [(name, str(number)) for name, number in found.rows.items()],
        right=frozenset({1}),
    )
    states = ", ".join(f"{number} {state}" for state, number in found.turns.items())
    output.line(f"Turns: {states or 'none'}.")
    if found.oldest_open is not None:
        since = datetime.fromtimestamp(found.oldest_open).astimezone()
        output.line(f"The oldest that is open came in at {since:%Y-%m-%d %H:%M:%S}.")
    if found.in_doubt:
        output.line(f"{found.in_doubt} replies may or may not have been sent.", WARN)


def _path(session: Session) -> Path | None:
    """Return the file of the store, or None when nothing was stored yet."""
    from pegboard.store.sqlite import FILE_NAME

    require_embedded(session)
    path = session.paths.state / FILE_NAME
    return path if path.exists() else None


def _bytes(number: int) -> str:
    """Return a number of bytes for people: `4.1 MB`."""
    size, unit = float(number), _UNITS[0]
    for unit in _UNITS:
        if size < _STEP or unit == _UNITS[-1]:
            break
        size /= _STEP
    return f"{size:.0f} {unit}" if unit == _UNITS[0] else f"{size:.1f} {unit}"
