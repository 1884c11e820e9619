"""`pegboard policy check`: an operator's expectations, held against what is in force."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pegboard.cli import exit_codes
from pegboard.cli.output import BAD, GOOD
from pegboard.cli.policy.question import outcome
from pegboard.cli.session import Session, json_option
from pegboard.cli.tools.find import find_tool
from pegboard.contracts.errors import PegboardError

if TYPE_CHECKING:
    from pegboard.cli.policy.expectations import Expectation
    from pegboard.host import Host


class _Found(NamedTuple):
    """What became of an expectation; `wrong` says why nothing could be decided, else ""."""

    expected: Expectation
    outcome: str = ""
    rule: str = ""
    wrong: str = ""

    @property
    def met(self) -> bool:
        return not self.wrong and self.expected.met_by(self.outcome, self.rule)

    def to_dict(self) -> dict[str, Any]:
        return {
            "expectation": self.expected.words,
            "met": self.met,
            "expected": {"outcome": self.expected.outcome, "rule": self.expected.rule},
            "found": None if self.wrong else {"outcome": self.outcome, "rule": self.rule},
            "wrong": self.wrong or None,
        }


@click.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@click.pass_context
def command(ctx: click.Context, file: Path) -> None:
    """Hold the policy to the expectations in FILE; exit code 1 when one is not met.

    FILE is TOML. Each table [[expect]] names a tool and an outcome (allow, ask, deny or hidden),
    and may say whom it is about as the options of `pegboard why` do: as, from, channel, sender,
    agent, profile. With call, a table of arguments, it is about that one call. With rule, that
    rule must be the one that decides.
    """
    session: Session = ctx.obj
    from pegboard.cli.policy.expectations import read_expectations

    expected = read_expectations(file)

    async def hold() -> list[_Found]:
        async with session.open_host() as host:
            return [await _held(host, item) for item in expected]

    found = session.run(hold)
    missed = [item for item in found if not item.met]
    output = session.output
    if output.json_wanted:
        output.json(
            {"ok": not missed, "checks": [item.to_dict() for item in found]}, sort_keys=True
        )
    else:
        for item in missed:
            output.line(item.expected.words)
            output.line(f"- {_said(item.expected.outcome, item.expected.rule)}", GOOD)
            output.line(f"+ {item.wrong or _said(item.outcome, item.rule)}", BAD)
        output.line(f"{len(found) - len(missed)} of {len(found)} expectations are met.")
    if missed:
        ctx.exit(exit_codes.FAILED)


async def _held(host: Host, expected: Expectation) -> _Found:
    from pegboard.host.supposed_caller import one_call, suppose

    try:
        tool = find_tool(host, expected.tool)
        call = None if expected.call is None else one_call(host, tool, expected.call)
        verdict = (await suppose(host, expected.question)).verdict(tool, call)
    except PegboardError as error:  # one that can't be asked leaves the others
        return _Found(expected, wrong=error.message)
    return _Found(expected, outcome(verdict), verdict.rule)


def _said(outcome: str, rule: str | None) -> str:
    return outcome if rule is None else f"{outcome} ({rule})"
