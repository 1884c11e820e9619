"""`pegboard models default`: choose who answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pegboard.cli.config import refuse_wrong
from pegboard.cli.fault import tell
from pegboard.cli.output import GOOD
from pegboard.cli.resident import tell_host
from pegboard.cli.session import Session, json_option
from pegboard.config import edit
from pegboard.config.keys import join_key
from pegboard.config.nearest import nearest
from pegboard.contracts.errors import UsageError

if TYPE_CHECKING:
    from pegboard.plugins.decision.boot import Boot


@click.command("default")
@click.argument("model", metavar="PROVIDER[/MODEL]")
@json_option
@click.pass_obj
def command(session: Session, model: str) -> None:
    """Choose the model that answers; without MODEL it is the provider's default.

    PROVIDER is a provider of your config file, or a type of an installed package. Whether it has
    the model is not asked: `pegboard models list` does.
    """
    provider, _, name = model.partition("/")
    values = _values(session.boot, provider, name)
    refuse_wrong(session, values)
    for key, value in values.items():
        edit.set_value(session.paths.config_file, key, value)
    if not name:
        edit.unset(session.paths.config_file, "agent.model")
    now = session.again()
    chosen = {key: now.config.get(f"agent.{key}", "") for key in ("provider", "model")}
    if session.output.json_wanted:
        session.output.json(chosen)
    else:
        whole = "/".join(filter(None, chosen.values()))
        session.output.line(f"{whole} answers from now on.", GOOD)
    for key in ("agent.provider", "agent.model"):
        source = now.config.source(key)
        wanted = values.get(key, "")
        if now.config.get(key, "") != wanted:
            tell(session.output, f"{source} still decides {key}.", None, title="Warning")
    _tell_missing(now, provider)
    tell_host(session, subject="agent.provider, agent.model")


def _tell_missing(session: Session, provider: str) -> None:
    """Say which keys the one that was chosen still lacks."""
    from pegboard.config.secrets import Secrets
    from pegboard.plugins.decision.kinds import configured
    from pegboard.providers.choice import how_to_set, standings

    secrets = Secrets(session.paths, session.env)
    instances = configured(session.boot, "provider").instances
    for item in standings(instances, session.config.section("providers"), secrets.has):
        for name in item.missing if item.name == provider else ():
            tell(session.output, f"{name} is not set.", how_to_set(name), title="Warning")


def _values(boot: Boot, provider: str, model: str) -> dict[str, Any]:
    """Return the settings that a choice comes to, by dotted key.

    Raises:
        UsageError: When there is no such provider.
    """
    from pegboard.plugins.decision.kinds import configured, why_absent

    values: dict[str, Any] = {"agent.provider": provider}
    if model:
        values["agent.model"] = model
    found = configured(boot, "provider")
    if found.named(provider) is not None or provider in boot.config.section("providers"):
        return values
    for _, fact in boot.contributions("provider"):
        required = (fact.config or {}).get("required", ())
        if fact.name == provider and model and list(required) == ["model"]:
            # a type that does nothing without one: it gets its settings here
            return {join_key(["providers", provider, "model"]): model, **values}
    problem = why_absent(boot, "provider", provider)
    if problem is not None:
        raise UsageError(f"{provider} can't answer: {problem.message}.", fix=problem.fix)
    names = [instance.name for instance in found.instances]
    near = nearest(provider, names)
    raise UsageError(
        f"There is no provider {provider!r}. There is: {', '.join(names) or 'none'}.",
        fix=f"pegboard models default {near}" if near else "pegboard models list",
    )
