"""`pegboard sandbox`: what tools may reach, and what keeps them to it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from pegboard.cli.lazy_group import LazyGroup
from pegboard.cli.output import BAD, GOOD, HEAD, PLAIN, WARN, Output, Style
from pegboard.cli.session import Session, json_option
from pegboard.contracts.errors import SandboxError, UsageError
from pegboard.sandboxes.missing import NONE

if TYPE_CHECKING:
    from pegboard.contracts.sandbox import Sandbox, SandboxReport

_COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "explain": (
        "sandbox:explain",
        "Say what the sandbox enforces here; with PATH, what tools may do with that.",
    ),
}
_STYLES: Final[dict[str, Style]] = {"yes": GOOD, "partial": WARN, "no": BAD}
_MEANS: Final = {
    "fs_read": "commands read nothing but what is granted",
    "fs_write": "commands change nothing but what is granted",
    "net": "commands reach no network but what is allowed",
    "signals": "commands send no signal to other processes",
    "pids": "commands don't see other processes",
    "tree_kill": "all that a command started ends with it",
}
_LOOK_S: Final = 10.0
_EXAMPLE: Final = "pegboard sandbox explain --command 'ls -l'"


@click.group("sandbox", cls=LazyGroup, lazy=_COMMANDS)
def group() -> None:
    """Say what tools may reach, and what keeps them to it."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was asked, and what the sandbox says.

    Args:
        report: What it enforces.
        path: The judged path, "" = none was asked about.
        read, write: Why it can't be, None = it can.
        program: Where the program of a command is inside, "" = nowhere, None = not asked.
        refusal: Why commands are refused, None = they are not.
        confines: Whether commands are confined.
    """

    report: SandboxReport
    path: str = ""
    read: SandboxError | None = None
    write: SandboxError | None = None
    program: str | None = None
    refusal: SandboxError | None = None
    confines: bool = True


@click.command("explain")
@click.argument("path", required=False)
@click.option("--command", "source", metavar="CMD", help="Say where a command would run.")
@json_option
@click.pass_obj
def explain(session: Session, path: str | None, source: str | None) -> None:
    """Say what the sandbox enforces here; with PATH, what tools may do with that.

    Nothing is changed, and the command is not run: only its program is looked for.
    """
    words = _words(source)

    async def ask() -> _Answer:
        async with session.open_host() as host:
            sandbox = await host.sandbox()
            if path is not None:
                return await _judged(sandbox, path)
            if words:
                return await _looked_for(sandbox, words[0])
            return _Answer(sandbox.explain())

    answer = session.run(ask)
    if session.output.json_wanted:
        session.output.json(_data(answer, source))
    elif path is not None:
        _print_path(session.output, answer)
    elif source is not None:
        _print_command(session.output, answer, words[0])
    else:
        _print_report(session.output, answer.report)


def _words(source: str | None) -> list[str]:
    if source is None:
        return []
    try:
        words = shlex.split(source)
    except ValueError as error:
        raise UsageError(f"--command: {error}", fix=_EXAMPLE) from error
    if not words:
        raise UsageError("--command is empty", fix=_EXAMPLE)
    return words


async def _judged(sandbox: Sandbox, path: str) -> _Answer:
    return _Answer(
        sandbox.explain(),
        path=path,
        read=await _refusal(sandbox, path, write=False),
        write=await _refusal(sandbox, path, write=True),
        confines=sandbox.info.confines_commands,
    )


async def _refusal(sandbox: Sandbox, path: str, *, write: bool) -> SandboxError | None:
    from pegboard.sandboxes import not_regular

    try:
        place = sandbox.resolve(path, write=write)
        found = await sandbox.stat(place)
        if found is not None and found.kind == "other":
            raise not_regular(path, "a pipe, socket or device")
        if found is not None and found.kind == "file" and not write:
            await sandbox.read(place, limit=1)  # private keys are known by what they hold
    except SandboxError as error:
        return error
    except OSError as error:
        return SandboxError(
            f"{path}: {error.strerror}", fix="No grant opens it: the system refuses your user."
        )
    return None


async def _looked_for(sandbox: Sandbox, program: str) -> _Answer:
    from pegboard.contracts.sandbox import Command

    # the effects of a shell: without one that writes, some sandboxes run nothing
    inner = sandbox.narrowed(frozenset({"read", "fs_write", "exec"}))
    look = Command(argv=("sh", "-c", 'command -v -- "$1"', "sh", program), timeout_s=_LOOK_S)
    try:
        done = await inner.run(look)
    except SandboxError as error:
        return _Answer(sandbox.explain(), refusal=error)
    return _Answer(sandbox.explain(), program=done.stdout.text().strip())


def _print_report(output: Output, report: SandboxReport) -> None:
    if report.sandbox == NONE:
        output.line("Sandbox: none", HEAD)
        for note in report.notes:
            output.line(note)
        return
    output.line(f"Sandbox: {report.sandbox}", HEAD)
    rows = [(what, how, _MEANS.get(what, "")) for what, how in report.enforced.items()]
    output.table(["", "ENFORCED", ""], rows, paint={1: lambda how: _STYLES.get(how, PLAIN)})
    output.line()
    grants = [(str(grant.path), grant.mode) for grant in report.grants]
    if grants:
        output.table(["GRANTED", "MODE"], grants)
        output.line()
    for note in report.notes:
        output.line(note)


def _print_path(output: Output, answer: _Answer) -> None:
    for verb, error in (("read", answer.read), ("written", answer.write)):
        if error is None:
            output.line(f"{answer.path} can be {verb} by tools.", GOOD)
        else:
            output.line(f"{answer.path} can't be {verb}: {error.message}", BAD)
            output.line(f"  {error.fix}")
    if answer.confines:
        output.line(f"Commands are held to the same ({answer.report.sandbox}).")
    else:
        output.line(f"Commands are not held to it ({answer.report.sandbox}).", WARN)


def _print_command(output: Output, answer: _Answer, program: str) -> None:
    name = answer.report.sandbox
    if answer.refusal is not None:
        output.line(f"It would not run: {answer.refusal.message}", BAD)
        output.line(f"  {answer.refusal.fix}")
    elif answer.program:
        output.line(f"It would run {answer.program} in the sandbox {name}.", GOOD)
    else:
        output.line(f"It would fail: there is no program {program} in the sandbox {name}.", BAD)
        output.line("  Programs outside the system's folders need a grant: pegboard grant PATH")
    for note in answer.report.notes:
        output.line(note)


def _data(answer: _Answer, source: str | None) -> dict[str, Any]:
    found = answer.report.to_dict()
    if answer.path:
        found["path"] = {
            "path": answer.path,
            "read": _error_data(answer.read),
            "write": _error_data(answer.write),
            "binds_commands": answer.confines,
        }
    if source is not None:
        found["command"] = {
            "command": source,
            "program": answer.program or None,
            "refused": _error_data(answer.refusal) if answer.refusal else None,
        }
    return found


def _error_data(error: SandboxError | None) -> dict[str, Any]:
    if error is None:
        return {"allowed": True}
    return {"allowed": False, "reason": error.message, "fix": error.fix}
