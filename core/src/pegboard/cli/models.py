"""`pegboard models`: which models there are, and what is known of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from pegboard.cli.fault import tell
from pegboard.cli.lazy_group import LazyGroup
from pegboard.cli.output import FAINT, GOOD
from pegboard.cli.session import Session, json_option

if TYPE_CHECKING:
    from pegboard.cli.models_facts import Found, ModelFacts

_COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "list": ("models:list_command", "List the models that your providers offer."),
    "show": ("models:show_command", "Show what is known of one model, and who says so."),
    "add": ("models_add:command", "Add a model that runs on this machine."),
    "default": ("models_default:command", "Choose the model that answers."),
}
_UNKNOWN: Final = "unknown"


@click.group("models", cls=LazyGroup, lazy=_COMMANDS)
def group() -> None:
    """List, show, add and choose models."""


@click.command("list")
@click.option("--provider", metavar="NAME", default="", help="Only those of one provider.")
@json_option
@click.pass_obj
def list_command(session: Session, provider: str) -> None:
    """List the models that your providers offer; each provider that has what it needs is asked.

    A price is in US dollars for a million tokens, read and written.
    """
    found = _found(session, provider)
    if session.output.json_wanted:
        models = [facts.to_dict() for facts in found.models]
        problems = [problem.to_dict() for problem in found.problems]
        default = {"model": found.answers, "why": found.why} if found.answers else None
        session.output.json({"models": models, "problems": problems, "default": default})
        return
    if found.models:
        _print_table(session, found.models)
    else:
        session.output.line("No provider offers a model.")
    if found.answers and not provider:
        session.output.note(f"{found.answers} answers: {found.why}.", FAINT)
    if found.nobody is not None and not provider:
        tell(session.output, found.nobody.message, found.nobody.fix, title="Nobody answers")
    others = [item.provider for item in found.problems if not (item.configured or provider)]
    for problem in found.problems:
        if problem.provider not in others:
            message = f"{problem.provider}: {problem.message}"
            tell(session.output, message, problem.fix, title="Not asked")
    if others:
        session.output.note(
            f"Not asked: {', '.join(others)}. Why: pegboard models list --provider NAME", FAINT
        )


@click.command("show")
@click.argument("model", metavar="[PROVIDER/]MODEL")
@json_option
@click.pass_obj
def show_command(session: Session, model: str) -> None:
    """Show what is known of one model, and who says so."""
    from pegboard.cli.models_facts import named

    facts = session.run(lambda: named(session, model))
    if session.output.json_wanted:
        session.output.json({"model": facts.to_dict()})
        return
    caps = facts.caps
    rows = [
        ("context window", f"{caps.context:,} tokens", facts.sources["context"]),
        ("longest answer", f"{caps.max_output:,} tokens", facts.sources["max_output"]),
        ("calls tools", _yes(caps.tools), facts.sources["tools"]),
        ("takes images", _yes(caps.images), facts.sources["images"]),
        ("is used to", ", ".join(caps.offered) or "nothing special", facts.sources["offered"]),
        ("price", price_text(facts), facts.sources["price"]),
    ]
    session.output.line(f"{facts.provider}/{facts.model}" if facts.provider else facts.model)
    session.output.table(["FACT", "VALUE", "FROM"], rows)


def price_text(facts: ModelFacts) -> str:
    """Return the price of a model for people."""
    price = facts.price
    if price is None:
        return _UNKNOWN
    if not price.input and not price.output:
        return "free: on this machine" if facts.is_free_here else "free"
    return f"${price.input:,.4g} read, ${price.output:,.4g} written"


def _found(session: Session, provider: str) -> Found:
    from pegboard.cli.models_facts import listed

    return session.run(lambda: listed(session, provider))


def _print_table(session: Session, models: list[ModelFacts]) -> None:
    rows = [
        (
            "*" if facts.is_default else "",
            f"{facts.provider}/{facts.model}",
            f"{facts.caps.context:,}",
            f"{facts.caps.max_output:,}",
            _yes(facts.caps.tools),
            _yes(facts.caps.images),
            price_text(facts),
        )
        for facts in models
    ]
    headers = ["", "MODEL", "CONTEXT", "LONGEST", "TOOLS", "IMAGES", "PRICE"]
    session.output.table(
        headers,
        rows,
        right=frozenset({2, 3}),
        paint={0: lambda _: GOOD},
    )


def _yes(value: Any) -> str:
    return "yes" if value else "no"
