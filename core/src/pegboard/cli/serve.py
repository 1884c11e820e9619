"""`pegboard serve`: a host that stays."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pegboard.cli import exit_codes
from pegboard.cli.fault import tell
from pegboard.cli.output import GOOD
from pegboard.cli.plugins.view import tell_broken
from pegboard.cli.session import Session
from pegboard.cli.tools.options import workspace_option
from pegboard.contracts.errors import UsageError

if TYPE_CHECKING:
    from pegboard.config.load import Config
    from pegboard.host import Host, HostOptions
    from pegboard.host.resident.log_file import LogFile

_PATIENCE_S = 30.0


@click.command("serve")
@workspace_option
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Make FILE when it is ready, and remove it when it ends.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print all that goes to the log.")
@click.option("--stop", is_flag=True, help="End the host that is running, in order.")
@click.option("--reload", is_flag=True, help="Let the host that is running read its settings.")
@click.pass_context
def command(
    ctx: click.Context,
    workspace: Path | None,
    ready_file: Path | None,
    verbose: bool,
    stop: bool,
    reload: bool,
) -> None:
    """Run a host that stays: it owns the store, runs every channel, and serves all commands.

    While it runs, `ask`, `chat` and the commands that change something act through it. SIGTERM and
    Ctrl-C end it in order: turns that run have `[serve] drain_s` seconds, the rest is handed on to
    the next host; a second one ends it at once. SIGHUP lets it read its settings again.
    """
    session: Session = ctx.obj
    if stop and reload:
        raise UsageError("Say --stop or --reload.", fix="pegboard serve --stop")
    if stop:
        _stop(session)
    elif reload:
        _reload(ctx, session)
    else:
        _serve(session, workspace, ready_file, verbose=verbose)


def _serve(
    session: Session, workspace: Path | None, ready_file: Path | None, *, verbose: bool
) -> None:
    from pegboard.config.load import load
    from pegboard.host.resident.log_file import LogFile
    from pegboard.host.resident.serving import serve

    config = load(session.paths, env=session.env, overrides=session.overrides)
    config.require_valid()
    options = _options(session, config, workspace)
    log = LogFile(session.paths.state, config.section("log"), session.redactor)
    run = partial(
        serve,
        options,
        state=session.paths.state,
        ready_file=ready_file,
        opened=partial(_opened, session, log),
        taken=lambda now: log.take(now.section("log")),
    )
    with _on_screen(session, verbose=verbose), log.open():
        reason = session.run(run)
    session.output.note(f"Ended: {reason}.")


def _options(session: Session, config: Config, workspace: Path | None) -> HostOptions:
    """Return how the host is opened; the settings of a folder count in that folder alone."""
    configured = str(config.get("serve.workspace", ""))
    if workspace is None and configured:
        workspace = Path(configured).expanduser()
    return replace(session.options_for(workspace), project=None, resident=True)


def _opened(session: Session, log: LogFile, host: Host) -> None:
    output = session.output
    tell_broken(output, host.records, (*host.boot.problems, *host.registry.problems))
    output.note(f"Serving {host.workspace}; the log is {log.path}. Ctrl-C ends it.")


@contextmanager
def _on_screen(session: Session, *, verbose: bool) -> Iterator[None]:
    """Show on standard error what is logged: warnings, or all of it."""
    from pegboard.host.resident.log_file import TextLine
    from pegboard.policy.redaction import RedactingFilter

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextLine())
    handler.setLevel(logging.NOTSET if verbose else logging.WARNING)
    handler.addFilter(RedactingFilter(session.redactor))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


def _stop(session: Session) -> None:
    """Tell the running host to end, and wait until it has."""
    import anyio

    from pegboard.contracts.errors import StoreError
    from pegboard.store.host_lock import LOCK_NAME, owner_of

    lock = session.paths.state / LOCK_NAME

    async def end() -> int | None:
        async with session.resident() as client:
            if client is None:
                return None
            pid = int(client.greeting["pid"])
            await client.call("shutdown")
        patience = float(session.config.get("serve.drain_s", 30)) + _PATIENCE_S
        with anyio.move_on_after(patience):
            while owner_of(lock) == str(pid):
                await anyio.sleep(0.05)
            return pid
        raise StoreError(
            f"The host, process {pid}, has not ended for {patience:g} s.", fix=f"kill -9 {pid}"
        )

    with session.output.step("Waiting for the turns that run"):
        pid = session.run(end)
    if pid is None:
        session.output.line("No host is running.")
    else:
        session.output.line(f"The host, process {pid}, has ended.", GOOD)


def _reload(ctx: click.Context, session: Session) -> None:
    async def ask() -> dict[str, list[str]] | None:
        async with session.resident() as client:
            return None if client is None else dict(await client.call("reload"))

    done = session.run(ask)
    output = session.output
    if done is None:
        tell(output, "No host is running.", "pegboard serve")
        ctx.exit(exit_codes.FAILED)
    output.line(f"Taken over: {', '.join(done['taken']) or 'nothing has changed'}.", GOOD)
    if done["restart"]:
        tell(
            output,
            f"These count after a restart: {', '.join(done['restart'])}",
            "pegboard serve --stop; then start it again",
            title="Warning",
        )
