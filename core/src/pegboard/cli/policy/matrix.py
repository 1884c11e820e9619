"""`pegboard policy matrix`: tools by callers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from pegboard.cli.completing import tool_names
from pegboard.cli.output import BAD, FAINT, GOOD, PLAIN, WARN, Style
from pegboard.cli.policy.question import outcome, profile_option
from pegboard.cli.session import Session, json_option
from pegboard.cli.tools.find import find_tool

if TYPE_CHECKING:
    from pegboard.host import Host
    from pegboard.host.supposed_caller import Question, SupposedCaller

_CALLERS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "chat": ("the operator in a chat at this machine", {}),
    "pipe": ("the operator's command in a pipe or a script of the shell", {"attended": False}),
    "guest": ("a guest", {"role": "guest"}),
    "script": ("a script that the agent wrote for the operator", {"origin": "script"}),
    "job": ("a job of the operator", {"origin": "job"}),
    "subagent": ("a subagent that works for the operator", {"origin": "subagent"}),
    "mcp": ("an MCP client that acts for the operator", {"origin": "mcp"}),
}
"""Column -> whom it is about."""
_MARKS: Final[dict[str, tuple[str, str, Style]]] = {
    "allow": ("yes", "may call it", GOOD),
    "ask": ("ask", "may call it after a person agrees", WARN),
    "deny": ("no", "may not call it, and is told why", BAD),
    "hidden": ("-", "may not call it, and does not learn that it exists", FAINT),
}
_STYLES: Final = {mark: style for mark, _, style in _MARKS.values()}


@click.command("matrix")
@click.argument("tools", nargs=-1, metavar="[TOOL]...", shell_complete=tool_names)
@profile_option
@json_option
@click.pass_obj
def command(session: Session, tools: tuple[str, ...], profile: str | None) -> None:
    """Print who may call which tool; without TOOL, of every tool.

    `pegboard why TOOL` says which rule is behind a cell, and so does --json.
    """

    async def look() -> dict[str, Any]:
        async with session.open_host() as host:
            return await _matrix(host, tools, profile)

    found = session.run(look)
    output = session.output
    if output.json_wanted:
        output.json(found, sort_keys=True)
        return
    output.table(
        ["TOOL", *(name.upper() for name in _CALLERS)],
        [
            (name, *(_MARKS[row[caller]["outcome"]][0] for caller in _CALLERS))
            for name, row in found["tools"].items()
        ],
        paint={
            column: lambda mark: _STYLES.get(mark, PLAIN) for column in range(1, len(_CALLERS) + 1)
        },
    )
    output.line()
    output.fields([(mark, words) for mark, words, _ in _MARKS.values()])
    output.line()
    output.fields([(name, words) for name, (words, _) in _CALLERS.items()])
    output.line()
    output.line(f"Profile: {found['profile']}.")


async def _matrix(host: Host, names: tuple[str, ...], profile: str | None) -> dict[str, Any]:
    from pegboard.host.supposed_caller import Question, suppose
    from pegboard.policy.explain import caller_data

    tools = [find_tool(host, name) for name in names] or host.registry.list_all()
    callers: dict[str, SupposedCaller] = {}
    for name, (_, facts) in _CALLERS.items():
        question: Question = Question(profile=profile, **facts)
        callers[name] = await suppose(host, question)
    return {
        "profile": callers["chat"].autonomy.profile,
        "callers": {name: caller_data(supposed.caller) for name, supposed in callers.items()},
        "tools": {
            tool.canonical: {
                name: {"outcome": outcome(verdict), "rule": verdict.rule}
                for name, supposed in callers.items()
                for verdict in [supposed.verdict(tool)]
            }
            for tool in sorted(tools, key=lambda tool: tool.canonical)
        },
    }
