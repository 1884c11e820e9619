"""`pegboard secret`: values that plugins read by name, and only those that they declare."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from pegboard.cli.fault import tell
from pegboard.cli.lazy_group import LazyGroup
from pegboard.cli.output import GOOD, PLAIN, WARN
from pegboard.cli.resident import tell_host
from pegboard.cli.session import Session, json_option
from pegboard.config.nearest import nearest
from pegboard.config.secrets import Secrets
from pegboard.contracts.errors import UsageError

if TYPE_CHECKING:
    from pegboard.plugins.decision.boot import Boot

_COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "set": ("secret:set_command", "Keep a secret; its value is asked for, or read from a pipe."),
    "list": ("secret:list_command", "List the names of secrets, never their values."),
    "rm": ("secret:rm_command", "Remove a secret."),
}


@click.group("secret", cls=LazyGroup, lazy=_COMMANDS)
def group() -> None:
    """Set, list and remove secrets."""


@click.command("set")
@click.argument("name")
@click.pass_obj
def set_command(session: Session, name: str) -> None:
    """Keep a secret; its value is asked for, or read from a pipe.

    It goes into the system's keyring where that works, else into a file that only you can read.
    """
    declared = declared_secrets(session.boot)
    if sys.stdin.isatty():
        value = click.prompt(f"Value of {name}", hide_input=True, err=True)
    else:
        value = sys.stdin.read().rstrip("\r\n")
    if not value:
        raise UsageError(f"The value of {name} is empty.", fix=f"pegboard secret set {name}")
    where = _secrets(session).set(name, value)
    session.output.line(f"{name} is kept in the {where}.", GOOD)
    tell_host(session, subject=name)
    if name not in declared:
        near = nearest(name, declared)
        tell(
            session.output,
            f"No installed plugin declares {name}, so none can read it.",
            f"did you mean {near}?" if near else "pegboard secret list",
            title="Warning",
        )


@click.command("list")
@json_option
@click.pass_obj
def list_command(session: Session) -> None:
    """List the names of secrets, never their values."""
    declared = declared_secrets(session.boot)
    secrets = _secrets(session)
    kept: dict[str, str] = dict(secrets.names())
    rows: list[tuple[str, str, list[str]]] = []
    for name in sorted({*declared, *kept}):
        where = kept.get(name) or ("environment" if secrets.has(name) else "")
        rows.append((name, where, declared.get(name, [])))
    if session.output.json_wanted:
        data = [
            {"name": name, "where": where or None, "plugins": plugins}
            for name, where, plugins in rows
        ]
        session.output.json({"secrets": data})
        return
    if not rows:
        session.output.line("No secret is kept, and no installed plugin wants one.")
        return
    session.output.table(
        ["NAME", "KEPT IN", "WANTED BY"],
        [(name, where or "not set", ", ".join(plugins)) for name, where, plugins in rows],
        paint={1: lambda cell: WARN if cell == "not set" else PLAIN},
    )


@click.command("rm")
@click.argument("name")
@click.pass_obj
def rm_command(session: Session, name: str) -> None:
    """Remove a secret."""
    secrets = _secrets(session)
    if secrets.remove(name):
        session.output.line(f"{name} is removed.", GOOD)
        tell_host(session, subject=name)
        return
    near = nearest(name, [kept for kept, _ in secrets.names()])
    raise UsageError(
        f"No secret {name} is kept here.",
        fix=f"pegboard secret rm {near}" if near else "pegboard secret list",
    )


def declared_secrets(boot: Boot) -> dict[str, list[str]]:
    """Return the names that installed plugins may read, with the ids of those plugins."""
    wanted: dict[str, list[str]] = {}
    for record in boot.records:
        manifest = record.manifest
        if manifest is None:
            continue
        names = {*manifest.secrets, *manifest.needs.get("secrets", ())}
        for tool in manifest.tools:
            names.update(tool.get("needs", {}).get("secrets", ()))
        for name in names:
            wanted.setdefault(name, []).append(record.id)
    return wanted


def _secrets(session: Session) -> Secrets:
    backend = session.config.get("secrets.backend", "auto")
    return Secrets(session.paths, session.env, backend=backend)
