"""`pegboard why`: the decision about a tool, with the rule that made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pegboard.cli.completing import tool_names
from pegboard.cli.output import BAD, GOOD, WARN
from pegboard.cli.session import Session, json_option
from pegboard.cli.tools.find import find_tool
from pegboard.cli.tools.list import to_json
from pegboard.cli.tools.options import as_option
from pegboard.contracts.effects import Trust

if TYPE_CHECKING:
    from pegboard.contracts.tool import RegisteredTool
    from pegboard.contracts.verdict import Verdict


@click.command("why")
@click.argument("tool", shell_complete=tool_names)
@as_option
@json_option
@click.pass_obj
def command(session: Session, tool: str, trust: Trust) -> None:
    """Say whether a tool may be called, and which rule decides it."""
    from pegboard.policy.explain import facts

    async def ask() -> tuple[RegisteredTool, Verdict]:
        async with session.open_host() as host:
            found = find_tool(host, tool)
            caller = host.local_caller(as_guest=trust == "guest")
            return found, host.why(found.canonical, caller)

    found, verdict = session.run(ask)
    output = session.output
    if output.json_wanted:
        output.json({"as": trust, "tool": to_json(found), "verdict": verdict.to_dict()})
        return
    styles = {"allow": GOOD, "ask": WARN, "deny": BAD}
    answer = verdict.to_dict()["outcome"]
    hidden = "" if verdict.disclosed else ", and does not learn that the tool exists"
    says = {"allow": "may call", "ask": "may call, after a person agrees,", "deny": "may not call"}
    who = "A guest" if trust == "guest" else "The operator"
    output.line(f"{who} {says[answer]} {found.wire_name}{hidden}.", styles[answer])
    output.fields(
        [("rule", verdict.rule), ("reason", verdict.reason), ("fix", verdict.fix or "")],
        indent="  ",
    )
    output.line()
    for line in facts(found):
        output.line(f"  {line}")
