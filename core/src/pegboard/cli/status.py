"""`pegboard status`: what the host does, and what in the store needs somebody's eye."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from pegboard.cli import exit_codes
from pegboard.cli.fatal_calls import FatalTool, fatal_json, fatal_tools
from pegboard.cli.output import BAD, GOOD, PLAIN, WARN, Output, Style
from pegboard.cli.session import Session, json_option
from pegboard.cli.sessions.find import when
from pegboard.cli.stored import reading
from pegboard.contracts.errors import PegboardError

if TYPE_CHECKING:
    from pegboard.store.overview import Overview, TurnLine

EMBEDDED: Final = "embedded"
_STATES: Final[Mapping[str, Style]] = {"running": GOOD, "waiting": BAD, "ended": WARN}
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


@click.command("status")
@click.option(
    "--ready", is_flag=True, help="Only tell whether a host that stays is ready: exit code 0 or 1."
)
@json_option
@click.pass_context
def command(ctx: click.Context, ready: bool) -> None:
    """Show what the host does, and what needs your eye: open turns, replies in doubt, questions.

    Without a host that stays it tells what is in the store.
    """
    session: Session = ctx.obj
    if ready:
        _ready(ctx, session)
        return
    host = session.run(lambda: _asked(session, "status"))
    from pegboard.store.workers import living

    kept, fatal = _kept(session, host), fatal_tools(session)
    commands = [name for name in living(session.paths.state) if not _is(host, name)]
    if session.output.json_wanted:
        session.output.json(
            {
                "host": host,
                "commands": [_pid(name) for name in commands],
                "store": kept.to_dict(),
                "fatal_calls": fatal_json(fatal),
            }
        )
    else:
        _print_host(session.output, host, len(commands))
        _print_store(session.output, kept)
        _print_fatal(session.output, fatal)
    if kept.found is None:
        ctx.exit(exit_codes.FAILED)


def _ready(ctx: click.Context, session: Session) -> None:
    """Say whether a host is ready, as a check of a container does it."""
    health = session.run(lambda: _asked(session, "health"))
    is_ready = health is not None and bool(health["ready"])
    if session.output.json_wanted:
        session.output.json({"ready": is_ready, "health": health})
    else:
        problems = [] if health is None else health["problems"]
        state = "No host is running." if health is None else f"The host is {health['state']}."
        session.output.line(" ".join([state, *(f"{problem}." for problem in problems)]))
    if not is_ready:
        ctx.exit(exit_codes.FAILED)


async def _asked(session: Session, verb: str) -> dict[str, Any] | None:
    async with session.resident() as client:
        return None if client is None else dict(await client.call(verb))


class Kept(NamedTuple):
    """What a backend keeps.

    Args:
        backend: Its name.
        found: What it keeps; None when it can't be read.
        size: Its bytes, where it is a file; else None.
        problem: Why it can't be read (`message`, `fix`).
    """

    backend: str
    found: Overview | None
    size: int | None = None
    problem: Mapping[str, Any] = {}

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-serialisable data."""
        found = {} if self.found is None else self.found.to_dict()
        return {"backend": self.backend, **found, "size": self.size} | (
            {"problem": dict(self.problem)} if self.problem else {}
        )


def _kept(session: Session, host: Mapping[str, Any] | None) -> Kept:
    """Return what is in the backend that the settings name."""
    backend = str(session.config.get("store.backend", EMBEDDED))
    if backend == EMBEDDED:
        return _in_file(session)
    from pegboard.store.verb_overview import overview_from

    told = session.run(lambda: _elsewhere(session)) if host is None else host.get("store")
    if told is None:
        return _in_file(session)  # the settings changed, and the host runs on as it was begun
    if "open_turns" not in told:
        return Kept(backend, None, problem=told)
    return Kept(backend, overview_from(told))


async def _elsewhere(session: Session) -> Mapping[str, Any]:
    """Return what a backend of a plugin keeps, or why it can't be read."""
    from pegboard.store.verb_overview import overview_of

    try:
        async with session.open_host() as host:
            found = await overview_of(host.parts.store, now=time.time())
    except PegboardError as error:
        return {"message": error.message, "fix": error.fix}
    return found.to_dict()


def _in_file(session: Session) -> Kept:
    """Return what is in the file of the embedded backend."""
    from pegboard.store.migrations import MIGRATIONS, version_of
    from pegboard.store.overview import Overview, overview
    from pegboard.store.sqlite import FILE_NAME

    with reading(session, turns=False) as connection:
        if connection is None or version_of(connection) < MIGRATIONS[-1].version:
            return Kept(EMBEDDED, Overview(), 0)
        found = overview(connection, now=time.time())
    files = (session.paths.state / f"{FILE_NAME}{end}" for end in ("", "-wal"))
    return Kept(EMBEDDED, found, sum(file.stat().st_size for file in files if file.exists()))


def _is(host: Mapping[str, Any] | None, name: str) -> bool:
    return host is not None and _pid(name) == host["pid"]


def _pid(name: str) -> int:
    number = name.partition("-")[0]
    return int(number) if number.isdigit() else 0


def _print_host(output: Output, host: Mapping[str, Any] | None, commands: int) -> None:
    if host is None:
        others = f" {commands} commands use the store now." if commands else ""
        output.line(f"No host is running: each command is its own.{others}")
        output.line("One that stays, with all channels: pegboard serve")
        return
    style = GOOD if host["state"] == "ready" else WARN
    output.line(
        f"The host is {host['state']}: process {host['pid']}, Pegboard {host['version']}, for "
        f"{duration(host['uptime_s'])}.",
        style,
    )
    engine, clients = host["engine"], host["clients"]
    output.fields(
        [
            ("provider", host["provider"]),
            ("workspace", host["workspace"]),
            (
                "turns",
                f"{engine['running']} run, {engine['waiting']} wait for their turn, "
                f"{engine['later']} for a time or a person",
            ),
            ("log", host["log"]),
            ("socket", f"{host['socket']} ({clients} client{'' if clients == 1 else 's'})"),
            ("restart", ", ".join(host["restart_needed"])),
            ("problem", host["problem"]),
        ]
    )
    if host["channels"]:
        output.heading("Channels")
        output.table(
            ["NAME", "TYPE", "STATE", "SINCE", "WHY"],
            [_channel(item) for item in host["channels"]],
            paint={2: lambda cell: _STATES.get(cell, PLAIN)},
        )
    _print_services(output, host["services"])


def _channel(item: Mapping[str, Any]) -> tuple[str, ...]:
    why = item["error"] if item["state"] != "running" else ""
    if item["state"] == "waiting" and item["failures"] > 1:
        why = f"{why} (failed {item['failures']} times)"
    return (item["name"], item["type"], item["state"], when(item["since"]), why)


def _print_services(output: Output, services: Iterable[Mapping[str, Any]]) -> None:
    shown = [item for item in services if item["health"] != "stopped"]
    if not shown:
        return
    output.heading("Services of plugins")
    output.table(
        ["PLUGIN", "NAME", "STATE", "RESTARTS", "WHY"],
        [
            (item["plugin"], item["name"], item["health"], str(item["restarts"]), item["error"])
            for item in shown
        ],
        right=frozenset({3}),
    )


def _print_store(output: Output, kept: Kept) -> None:
    output.heading("Store")
    output.fields([("backend", "" if kept.backend == EMBEDDED else kept.backend)])
    found = kept.found
    if found is None:
        output.line(f"It can't be read: {kept.problem['message']}", BAD)
        output.fields([("fix", kept.problem["fix"] or "")], indent="  ")
        return
    output.fields(
        [
            ("size", "" if kept.size is None else f"{kept.size / 1_000_000:.1f} MB"),
            ("open turns", str(found.open_turns)),
            ("given up", str(found.dead_turns or "")),
            ("in doubt", str(len(found.doubtful) or "")),
            ("questions", str(len(found.questions) or "")),
        ]
    )
    _print_turns(output, "Open turns", found.open)
    _print_turns(output, "Given up: the host died each time", found.dead)
    if found.doubtful:
        output.heading("Replies that may not have arrived")
        output.table(
            ["CONVERSATION", "TRIED", "TEXT"],
            [(item.conversation, when(item.at), item.text) for item in found.doubtful],
        )
    if found.questions:
        output.heading("Questions: answer them in their conversation with /confirm or /deny")
        output.table(
            ["CONVERSATION", "TOKEN", "TOOL", "UNTIL", "QUESTION"],
            [
                (item.conversation, item.token, item.tool, when(item.expires_at), item.question)
                for item in found.questions
            ],
        )


def _print_fatal(output: Output, tools: Iterable[FatalTool]) -> None:
    for number, tool in enumerate(tools):
        if not number:
            output.heading("Calls during which the host died")
        output.line(f"{when(tool.at)}  {tool.sentence()}", BAD)
        output.fields([("fix", tool.fix)], indent="  ")


def _print_turns(output: Output, title: str, turns: Iterable[TurnLine]) -> None:
    rows = [(item.conversation, item.state, when(item.at), item.text) for item in turns]
    if rows:
        output.heading(title)
        output.table(["CONVERSATION", "STATE", "CAME", "TEXT"], rows)


def duration(seconds: float) -> str:
    """Return a time in its two largest units: `2 h 5 min`."""
    rest = int(seconds)
    parts: list[str] = []
    for size, unit in _UNITS:
        number, rest = divmod(rest, size)
        if number or parts:
            parts.append(f"{number} {unit}")
    return " ".join(parts[:2]) or "0 s"
