"""Whom a command asks about: the options that say so, and the words that name them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from pegboard.contracts.verdict import Verdict
    from pegboard.host.supposed_caller import Question, SupposedCaller

F = TypeVar("F", bound=Callable[..., Any])

ROLES: Final = ("operator", "admin", "guest")
ORIGINS: Final = ("script", "job", "subagent", "mcp")
PROFILES: Final = ("assistant", "standard", "unattended", "max")
OUTCOMES: Final = ("allow", "ask", "deny", "hidden")
"""What a caller gets; `hidden` = a denial that is answered as if there were no such tool."""

_ROLE_WORDS: Final = {"operator": "the operator", "admin": "an admin", "guest": "a guest"}
_ORIGIN_WORDS: Final = {
    "script": "a script that works for {}",
    "job": "a job of {}",
    "subagent": "a subagent that works for {}",
    "mcp": "an MCP client that acts for {}",
}


def profile_option(function: F) -> F:
    """Give a command `--profile NAME`."""
    option = click.option(
        "--profile",
        type=click.Choice(PROFILES),
        help="Decide as if this were profile in the section [autonomy].",
    )
    return option(function)


def question_options(function: F) -> F:
    """Give a command the options that say whom it asks about, passed as one `question`."""

    @wraps(function)
    def ask(*args: Any, **given: Any) -> Any:
        from pegboard.host.supposed_caller import Question

        names = ("role", "channel", "profile", "origin", "sender", "agent")
        found = {name: given.pop(name) for name in names}
        found["origin"] = found["origin"] or "person"
        return function(*args, question=Question(**found), **given)

    for option in reversed(
        [
            click.option(
                "--as",
                "role",
                type=click.Choice(ROLES),
                help="Whom to decide about.  [default: operator]",
            ),
            click.option("--channel", metavar="NAME", help="They write in this channel."),
            click.option("--sender", metavar="ID", help="Their id there, which says who they are."),
            click.option(
                "--from",
                "origin",
                type=click.Choice(ORIGINS),
                help="What works for them calls the tool, not they themselves.",
            ),
            click.option("--agent", metavar="NAME", help="The named agent that answers."),
            profile_option,
        ]
    ):
        ask = option(ask)
    return ask  # type: ignore[return-value]


def who(supposed: SupposedCaller) -> str:
    """Return whom a decision is about, as the beginning of a sentence."""
    question: Question = supposed.question
    role = _ROLE_WORDS[question.role or "operator"]
    if question.sender is not None:
        role = f"the sender {supposed.caller.sender} ({_standing(supposed)})"
    elif question.channel is not None:
        role = f"{role} in {question.channel}"
    elif not question.attended:
        role = f"{role} in a pipe"
    words = _ORIGIN_WORDS.get(question.origin, "{}").format(role)
    if question.agent is not None:
        words = f"{words}, answered by {question.agent},"
    return words[:1].upper() + words[1:]


def _standing(supposed: SupposedCaller) -> str:
    if supposed.refused:
        return "nobody"
    if supposed.caller.trust != "operator":
        return "guest"
    return "admin" if supposed.caller.admin else "operator"


def outcome(verdict: Verdict) -> str:
    """Return what a caller gets: one of `OUTCOMES`."""
    name = verdict.outcome.name.lower()
    return "hidden" if name == "deny" and not verdict.disclosed else name
