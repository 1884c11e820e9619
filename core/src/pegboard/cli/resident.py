"""What commands have to do with a host that stays: they act through it, and tell it of changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pegboard.cli.fault import tell
from pegboard.contracts.errors import PegboardError, UsageError

if TYPE_CHECKING:
    from pegboard.cli.session import Session
    from pegboard.host import CommandHost
    from pegboard.host.control.client import ControlClient

_OF_A_TURN: Final = {
    "agent.provider": "provider",
    "agent.model": "model",
    "agent.effort": "effort",
}
"""Settings that options can give for one turn."""


async def connected(session: Session, client: ControlClient, folder: Path) -> CommandHost:
    """Return the running host as a command uses it; says what is broken in it.

    Raises:
        UsageError: When an option can't count there.
    """
    from pegboard.host.control.remote import RemoteHost
    from pegboard.host.turn_options import TurnOptions

    pid = client.greeting.get("pid")
    for key in session.overrides:
        if key not in _OF_A_TURN:
            raise UsageError(
                f"{key} can't be set for one run: a host is running (process {pid}), and answers "
                f"by its own settings. For one run it takes {', '.join(_OF_A_TURN)}.",
                fix=f"for all runs: pegboard config set {key} VALUE; or end it: pegboard serve "
                "--stop",
            )
    if session.safe:
        raise UsageError(
            f"--safe can't count: a host is running (process {pid}), which has its plugins.",
            fix="pegboard serve --stop",
        )
    for message, fix in (await client.call("broken"))["lines"]:
        tell(session.output, message, fix, title="Warning")
    turn_options = {name: str(session.overrides.get(key, "")) for key, name in _OF_A_TURN.items()}
    return RemoteHost(client, session.paths, TurnOptions(folder=folder, **turn_options))


def _rule() -> str:
    """Return the name of this command as the audit log has it: `plugins.disable`."""
    return ".".join(click.get_current_context().command_path.split()[1:])


def _record(session: Session, subject: str) -> None:
    """Record in the audit log that the person here changed Pegboard itself by this command.

    A host that stays records what it takes over. Where there is no store yet none is made.
    """
    from pegboard.store.sqlite import FILE_NAME

    if not (session.paths.state / FILE_NAME).exists():
        return
    from pegboard.contracts.clock import SystemClock
    from pegboard.host.audit_trail import AuditTrail
    from pegboard.host.ingress import local_caller
    from pegboard.policy.audit import audited
    from pegboard.store.database import Database

    event = audited(
        "admin", _rule(), "allow", local_caller(), at=SystemClock().now(), subject=subject
    )

    async def write() -> None:
        database = Database(session.paths.state)
        try:
            audit = AuditTrail(database, SystemClock(), session.redactor)
            await audit(event)
        finally:
            await database.aclose()

    session.run(write)


def tell_host(
    session: Session, verb: str = "reload", *, subject: str = ""
) -> Mapping[str, Any] | None:
    """Let a running host take over what a command has changed; None when there is none.

    The audit log tells of it either way. What the host says of it goes to standard error: the
    change itself is made.

    Args:
        session: The command.
        verb: `reload` for settings, `rescan` for packages.
        subject: What was changed, for the audit log: keys and names, never a value.
    """
    from pegboard.host.control.place import socket_to_use

    if socket_to_use(session.paths.state) is None:
        _record(session, subject)
        return None
    rule = _rule()

    async def ask() -> Mapping[str, Any] | None:
        async with session.resident() as client:
            return None if client is None else await client.call(verb, rule=rule, subject=subject)

    try:
        answer = session.run(ask)
    except PegboardError as error:
        tell(
            session.output,
            f"The running host did not take it over: {error.message}",
            error.fix,
            title="Warning",
        )
        return None
    if answer is not None and answer.get("restart"):
        tell(
            session.output,
            f"Of the running host these count after a restart: {', '.join(answer['restart'])}",
            "pegboard serve --stop; then start it again",
            title="Warning",
        )
    return answer
