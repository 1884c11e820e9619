"""`pegboard tools list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pegboard.cli.output import GOOD, WARN
from pegboard.cli.plugins.show import effects_text
from pegboard.cli.session import Session, json_option
from pegboard.cli.tools.options import as_option
from pegboard.contracts.caller import NO_FILTER
from pegboard.contracts.effects import Trust

if TYPE_CHECKING:
    from pegboard.contracts.tool import RegisteredTool
    from pegboard.host import Host


@click.command()
@click.option(
    "--all", "everything", is_flag=True, help="Also those that are refused, with the rule."
)
@as_option
@json_option
@click.pass_obj
def command(session: Session, everything: bool, trust: Trust) -> None:
    """List the tools that a caller is offered.

    Tools come from manifests: nothing is imported.
    """

    async def look() -> list[dict[str, Any]]:
        async with session.open_host() as host:
            return _rows(host, trust, everything)

    rows = session.run(look)
    if session.output.json_wanted:
        session.output.json({"as": trust, "tools": rows})
        return
    if not rows:
        _explain_none(session, trust)
        return
    verdict = ["VERDICT"] if everything else []
    session.output.table(
        ["TOOL", "PLUGIN", "EFFECTS", *verdict, "ABOUT"],
        [
            (
                row["name"],
                row["plugin"],
                effects_text(row["effects"]),
                *([_verdict_text(row["verdict"])] if everything else []),
                row["summary"],
            )
            for row in rows
        ],
        paint={3: lambda word: GOOD if word == "allow" else WARN} if everything else {},
    )


def _rows(host: Host, trust: Trust, everything: bool) -> list[dict[str, Any]]:
    caller = host.local_caller(as_guest=trust == "guest")
    if not everything:
        policy = host.dispatcher.policy
        return [to_json(tool) for tool in host.registry.list(NO_FILTER, caller, policy)]
    return [
        {**to_json(tool), "verdict": host.why(tool.canonical, caller).to_dict()}
        for tool in host.registry.list_all()
    ]


def to_json(tool: RegisteredTool) -> dict[str, Any]:
    """Return what `tools list --json` says of one tool."""
    spec = tool.spec
    return {
        "name": tool.wire_name,
        "canonical": tool.canonical,
        "plugin": tool.plugin,
        "kind": tool.kind,
        "first_party": tool.first_party,
        "summary": spec.summary,
        "category": spec.category,
        "effects": None if spec.effects is None else sorted(spec.effects),
        "audience": spec.audience,
        "exposure": spec.exposure,
    }


def _verdict_text(verdict: dict[str, Any]) -> str:
    outcome = str(verdict["outcome"])
    return outcome if outcome == "allow" else f"{outcome}: {verdict['rule']}"


def _explain_none(session: Session, trust: Trust) -> None:
    if trust == "guest":
        session.output.line("A guest is offered no tool.")
        session.output.line("Open one: pegboard config set policy.guest_tools '[\"NAME\"]'")
        return
    session.output.line("There is no tool: no plugin that can be used brings one.")
    session.output.line("See pegboard plugins list, or: pip install pegboard-standard")
