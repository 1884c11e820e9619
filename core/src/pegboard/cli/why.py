"""`pegboard why`: the decision about a tool, with the rule that made it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from pegboard.cli.completing import tool_names
from pegboard.cli.output import BAD, GOOD, WARN
from pegboard.cli.policy.question import outcome, question_options, who
from pegboard.cli.session import Session, json_option
from pegboard.cli.tools.arguments import arguments_of
from pegboard.cli.tools.find import find_tool

if TYPE_CHECKING:
    from pegboard.cli.output import Output
    from pegboard.contracts.tool import RegisteredTool
    from pegboard.contracts.verdict import Verdict
    from pegboard.host.supposed_caller import Question, SupposedCaller
    from pegboard.policy.explain import Step
    from pegboard.policy.rule_match import Call

_SAYS: Final = {
    "allow": ("may call {}.", GOOD),
    "ask": ("may call {}, after a person agrees.", WARN),
    "deny": ("may not call {}.", BAD),
    "hidden": ("may not call {}, and does not learn that the tool exists.", BAD),
}


_ONE_CALL: Final = (
    "each is judged by its arguments too, so one may be asked about or refused all the same"
)


class _Answer(NamedTuple):
    tool: RegisteredTool
    supposed: SupposedCaller
    verdict: Verdict
    steps: list[Step]
    missing: str | None
    guarded: bool
    by_arguments: bool
    call: Call | None


@click.command("why")
@click.argument("tool", shell_complete=tool_names)
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE... | JSON | -]")
@question_options
@json_option
@click.pass_obj
def command(session: Session, tool: str, arguments: tuple[str, ...], question: Question) -> None:
    """Say whether a tool may be called, and which rule decides it.

    Without options: whether you may, in a chat at this machine. With arguments, written as for
    `pegboard tools call`, about that one call; without, whether some call could pass. Nothing is
    called.
    """

    async def ask() -> _Answer:
        from pegboard.host.supposed_caller import one_call, suppose
        from pegboard.policy.explain import depends_on_arguments, looked_at

        async with session.open_host() as host:
            found = find_tool(host, tool)
            given = arguments_of(arguments, found.spec.parameters) if arguments else None
            call = None if given is None else one_call(host, found, given)
            supposed = await suppose(host, question)
            policy, caller = supposed.policy, supposed.caller
            steps = [] if supposed.refused else looked_at(policy, caller, found, call=call)
            return _Answer(
                tool=found,
                supposed=supposed,
                verdict=supposed.verdict(found, call),
                steps=steps,
                missing=host.registry.missing(found),
                guarded=host.hooks.wants("pegboard_tool_guard"),
                by_arguments=call is None and depends_on_arguments(policy, caller, found),
                call=call,
            )

    answer = session.run(ask)
    if session.output.json_wanted:
        session.output.json(_data(answer), sort_keys=True)
    else:
        _print(session.output, answer)


def _data(answer: _Answer) -> dict[str, Any]:
    """Return the stable form: no time, no id that a host makes up, no path."""
    from pegboard.policy.explain import caller_data, facts_data

    question = answer.supposed.question
    return {
        "as": question.role,
        "from": question.origin,
        "channel": question.channel,
        "sender": question.sender,
        "agent": question.agent,
        "profile": answer.supposed.autonomy.profile,
        "arguments": None if answer.call is None else dict(answer.call.arguments),
        "caller": caller_data(answer.supposed.caller),
        "tool": facts_data(answer.tool),
        "outcome": outcome(answer.verdict),
        "depends_on_arguments": answer.by_arguments,
        "verdict": answer.verdict.to_dict(),
        "looked_at": [
            {"rule": step.rule, "decided": step.verdict is not None} for step in answer.steps
        ],
    }


def _print(output: Output, answer: _Answer) -> None:
    from pegboard.policy.explain import LOOKED_AT, facts

    verdict, supposed = answer.verdict, answer.supposed
    says, style = _SAYS[outcome(verdict)]
    output.line(f"{who(supposed)} {says.format(answer.tool.wire_name)}", style)
    given = supposed.question.profile
    output.fields(
        [
            ("call", json.dumps(answer.call.arguments) if answer.call else ""),
            ("rule", verdict.rule),
            ("reason", verdict.reason),
            ("asks", verdict.ask.question if verdict.ask else ""),
            ("fix", verdict.fix or ""),
            ("sender", supposed.standing),
            ("profile", f"{given}, as you asked" if given else supposed.autonomy.profile),
            ("calls", _ONE_CALL if answer.by_arguments else ""),
            ("lacks", answer.missing or ""),
            ("guards", "plugins' guards are asked at each call too" if answer.guarded else ""),
        ],
        indent="  ",
    )
    if answer.steps:
        output.heading("Looked at, in this order")
        output.fields(
            [
                (step.rule, ("passed" if step.verdict is None else "decided") + f": {words}")
                for step in answer.steps
                for words in [LOOKED_AT[step.rule]]
            ],
            indent="  ",
        )
    output.heading("What the tool states")
    for line in facts(answer.tool):
        output.line(f"  {line}")
