"""`pegboard undo`: take back what a run did to files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import click

from pegboard import PegboardError, Suspend, ToolResult

if TYPE_CHECKING:
    from pegboard import CommandHost

T = TypeVar("T")
_REFUSED: Final = 1
_HELP: Final = f"""Give files back what they held before a run; without RUN, list the runs.

RUN is the id of a run, the beginning of one, or `last`. Known is what the file tools did, not what
commands did. A file that was changed since is refused and named, unless --force is given. What undo
itself does can be undone in the same way.

Exit code: 0 when all is as it was before the run, {_REFUSED} when a file was refused.

\b
Examples:
  pegboard undo
  pegboard undo last --dry-run
  pegboard undo last --force
"""


class CommandOutput(Protocol):
    """Where the command's text goes."""

    json_wanted: bool

    def line(self, text: str = "") -> None:
        """Print a line for people."""
        ...

    def note(self, text: str) -> None:
        """Print a line on standard error."""
        ...

    def json(self, data: dict[str, Any]) -> None:
        """Print the one JSON object that answers the command."""
        ...

    def interactive(self) -> bool:
        """Tell whether a person can be asked."""
        ...


class CommandSession(Protocol):
    """One invocation of the command (`ctx.obj`)."""

    output: CommandOutput

    def connect(self, workspace: Path | None = None) -> AbstractAsyncContextManager[CommandHost]:
        """Reach the running host, or open one for this invocation."""
        ...

    def run(self, function: Callable[[], Awaitable[T]]) -> T:
        """Run an async function to its end."""
        ...


@click.command("undo", help=_HELP)
@click.argument("run", default="", metavar="[RUN]")
@click.option("--force", is_flag=True, help="Give up what was changed since by somebody else.")
@click.option("--dry-run", is_flag=True, help="Only list what would be done.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Runs to list."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(
    ctx: click.Context, run: str, force: bool, dry_run: bool, limit: int, as_json: bool
) -> None:
    """Call the tool and print what it says."""
    session: CommandSession = ctx.obj
    session.output.json_wanted = as_json
    result = session.run(partial(_undo, session, run, force, dry_run, limit))
    if result.error is not None:
        raise PegboardError(result.error.message, fix=result.error.fix)
    facts: dict[str, Any] = result.structured or {}
    if as_json:
        session.output.json(facts)
    else:
        session.output.line(result.text)
        for line in _next(facts):
            session.output.line(line)
    if facts.get("refused"):
        ctx.exit(_REFUSED)


def _next(facts: dict[str, Any]) -> Iterator[str]:
    """Yield what a person can do next, as commands."""
    left = [item["run"] for item in facts.get("runs", ()) if not item["undone"]]
    if left:
        yield f"Take one back: pegboard undo {left[0]}"
        yield "The beginning of an id is enough, and `last` is the first that is not taken back."
        yield "Only see what that would do: add --dry-run."
    if facts.get("refused"):
        yield f"Give those back as well, and lose what was changed since: {_forced(facts)}"
    elif facts.get("dry_run"):
        yield f"Do it: pegboard undo {facts['run']}"


def _forced(facts: dict[str, Any]) -> str:
    return f"pegboard undo {facts['run']} --force"


async def _undo(
    session: CommandSession, run: str, force: bool, dry_run: bool, limit: int
) -> ToolResult:
    async with session.connect() as host:
        if not run:
            return await _call(session, host, {"limit": limit})
        first = await _call(session, host, {"run": run, "dry_run": True, "force": force})
        if first.error is not None:
            return first
        found: dict[str, Any] = first.structured or {}
        # the files are where the run worked, which may be another folder than this one
        folder = Path(found["workspace"])
        arguments = {"run": found["run"], "dry_run": dry_run, "force": force}
        if folder == host.folder or not folder.is_dir():
            return first if dry_run else await _call(session, host, arguments)
    async with session.connect(folder) as host:
        return await _call(session, host, arguments)


async def _call(
    session: CommandSession, host: CommandHost, arguments: dict[str, Any]
) -> ToolResult:
    """Call the tool, and ask the person where a rule wants that."""
    attended = session.output.interactive()
    caller = host.local_caller(attended=attended)
    agreed: list[str] = []
    while True:
        result = await host.call_tool("files:undo_changes", arguments, caller, agreed=agreed)
        asked = result.control if attended else None
        if not isinstance(asked, Suspend) or asked.subject in agreed:
            return result
        if not click.confirm(asked.question, err=True):
            return result
        agreed.append(asked.subject)
