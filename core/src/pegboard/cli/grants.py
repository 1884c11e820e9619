"""`pegboard grant` and `pegboard revoke`: which folders tools may use beside the workspace."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pegboard.cli.completing import granted_paths
from pegboard.cli.fault import tell
from pegboard.cli.output import GOOD
from pegboard.cli.resident import tell_host
from pegboard.cli.session import Session, json_option
from pegboard.config.edit import read_text
from pegboard.config.private_file import write_private
from pegboard.contracts.errors import UsageError

if TYPE_CHECKING:
    from pegboard.contracts.sandbox import Grip

KEY: Final = "sandbox.grants"
_MODES: Final[dict[str, str]] = {"ro": "read", "rw": "read and written"}


@click.command("grant")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--write", is_flag=True, help="Let tools write there too.")
@json_option
@click.pass_obj
def grant(session: Session, path: Path, write: bool) -> None:
    """Let tools use a folder or file beside the workspace.

    It is kept in `[sandbox] grants` of your config file. A grant inside another one narrows or
    widens that: a folder of the workspace that is granted without --write can't be written.
    `pegboard sandbox explain` lists what is granted.
    """
    from pegboard.config.edit_tables import with_table

    place = _absolute(path)
    mode: Grip = "rw" if write else "ro"
    _refuse_unsafe(session, place, mode)
    file = session.paths.config_file
    before = read_text(file)
    item = {"path": str(place), "mode": mode}
    text = with_table(before, KEY, item, replaces="path")
    if text != before:
        write_private(file, text)
    how = "is granted already" if text == before else "is granted"
    _say(session, {**item, "changed": text != before}, f"{place} {how}: {_MODES[mode]} by tools.")
    _warn_of_secrets(session, place, mode)
    _warn_of_others(session)
    if text != before:
        tell_host(session, subject=f"{place} ({mode})")


@click.command("revoke")
@click.argument("path", type=click.Path(path_type=Path), shell_complete=granted_paths)
@json_option
@click.pass_obj
def revoke(session: Session, path: Path) -> None:
    """Take back what `pegboard grant` gave. The workspace itself can always be used."""
    from pegboard.config.edit_tables import without_tables

    place = _absolute(path)

    def is_meant(item: Mapping[str, Any]) -> bool:
        written = str(item.get("path", ""))
        return written == str(path) or _absolute(Path(written)) == place

    file = session.paths.config_file
    before = read_text(file)
    text = without_tables(before, KEY, is_meant)
    if text == before:
        raise _not_granted(session, place)
    write_private(file, text)
    _say(session, {"path": str(place), "changed": True}, f"{place} is not granted any more.")
    _warn_of_others(session)
    tell_host(session, subject=str(place))


def _absolute(path: Path) -> Path:
    # without `..` and without looking at links: what is granted is what the person named
    place = os.path.expanduser(path)  # noqa: PTH111 - Path fails on a user that is not there
    return Path(os.path.abspath(place))  # noqa: PTH100 - Path keeps `..`


def _refuse_unsafe(session: Session, place: Path, mode: Grip) -> None:
    from pegboard.sandboxes.explain import refused_root
    from pegboard.sandboxes.paths import split
    from pegboard.sandboxes.roots import unsafe_root

    if not place.exists():
        raise UsageError(f"{place} does not exist.", fix=f"mkdir -p {shlex.quote(str(place))}")
    if not (place.is_dir() or place.is_file()):
        raise refused_root(str(place), "it is neither a folder nor a file")
    reason = unsafe_root(
        split(os.path.realpath(place)),
        mode,
        home=split(os.path.realpath(Path.home())),
        protected=[split(os.path.realpath(own)) for own in _own(session)],
    )
    if reason is not None:
        raise refused_root(str(place), reason)


def _warn_of_secrets(session: Session, place: Path, mode: Grip) -> None:
    from pegboard.sandboxes import refused_grant

    reason = refused_grant(place, mode, protected=_own(session))
    if reason is not None:
        tell(
            session.output,
            f"{place}: {reason}.",
            f"pegboard revoke {shlex.quote(str(place))}",
            title="Warning",
        )


def _warn_of_others(session: Session) -> None:
    source = session.again().config.source(KEY)
    if source not in ("default", str(session.paths.config_file)):
        tell(session.output, f"{source} still decides {KEY}.", None, title="Warning")


def _not_granted(session: Session, place: Path) -> UsageError:
    inside = [path for path in _granted(session) if place.is_relative_to(path)]
    if inside:
        return UsageError(
            f"{place} is no grant of its own: it is inside {inside[-1]}.",
            fix=f"pegboard revoke {shlex.quote(str(inside[-1]))}",
        )
    return UsageError(
        f"{place} is not granted in {session.paths.config_file}.", fix="pegboard sandbox explain"
    )


def _granted(session: Session) -> list[Path]:
    return [_absolute(Path(item["path"])) for item in session.config.get(KEY, ())]


def _own(session: Session) -> tuple[Path, ...]:
    paths = session.paths
    return (paths.config, paths.state, paths.data, paths.cache)


def _say(session: Session, facts: Mapping[str, Any], text: str) -> None:
    if session.output.json_wanted:
        session.output.json(dict(facts))
    else:
        session.output.line(text, GOOD)
