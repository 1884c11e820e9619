"""What `pegboard doctor` says of providers: who answers now, and what each other lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pegboard.cli.findings import Finding
from pegboard.config.keys import join_key
from pegboard.config.load import Config

if TYPE_CHECKING:
    from pegboard.cli.session import Session
    from pegboard.plugins.decision.boot import Boot
    from pegboard.providers.choice import Standing


def provider_findings(session: Session) -> Iterator[Finding]:
    """Yield what is to be said of providers."""
    from pegboard.config.secrets import Secrets
    from pegboard.plugins.decision.kinds import configured, why_absent
    from pegboard.providers.choice import chosen, standings
    from pegboard.providers.nobody import nobody

    config, boot = session.config, session.boot
    secrets = Secrets(session.paths, session.env)
    instances = configured(boot, "provider").instances
    found = standings(instances, config.section("providers"), secrets.has)
    names = sorted(item.name for item in found)
    if names:
        yield from _fallbacks(config, names)
    wanted = str(config.get("agent.provider", ""))
    first = next((item for item in found if item.name == wanted), None)
    if wanted and first is None:
        there = ", ".join(names) or "none"
        problem = why_absent(boot, "provider", wanted)
        fix = problem.fix if problem else None
        if names and fix is None:
            fix = f"pegboard config set agent.provider {names[0]}"
        text = f"agent.provider is {wanted!r}, but there is only {there}."
        yield Finding("broken", "provider", text, fix)
        return
    first = first or chosen(found)
    if first is None:
        error = nobody(boot, found)
        yield Finding("broken", "provider", error.message, error.fix)
        return
    yield _answers(first, found, config, boot)
    yield from _exposed(found)


def _answers(first: Standing, found: Sequence[Standing], config: Config, boot: Boot) -> Finding:
    from pegboard.config.secrets import ENV
    from pegboard.providers.choice import how_to_set

    is_named = first.name == config.get("agent.provider", "")
    model = str(config.get("agent.model", "") or first.instance.settings.get("model", ""))
    label = "/".join(filter(None, (first.name, model)))
    others = [f"{item.name}: {_other(item)}" for item in found if item is not first]
    others += [f"{type}: {lack}" for type, lack in _not_set_up(found, boot)]
    if first.missing:
        text = f"{label} is to answer, but its key {' and '.join(first.missing)} is not set."
        name = first.missing[0]
        fix = how_to_set(name) if name.startswith(ENV) else f"pegboard secret set {name}"
        return Finding("broken", "provider", "\n".join([text, *others]), fix)
    why = "agent.provider names it" if is_named else first.reason
    return Finding("ok", "provider", "\n".join([f"{label} answers: {why}", *others]))


def _other(item: Standing) -> str:
    from pegboard.providers.choice import OFFLINE, how_to_set

    if item.missing:
        return f"lacks its key: {' and '.join(map(how_to_set, item.missing))}"
    if item.instance.type == OFFLINE:
        return "could answer, without a model"
    return f"could answer: {item.reason}"


def _not_set_up(found: Sequence[Standing], boot: Boot) -> Iterator[tuple[str, str]]:
    """Yield the types that are installed and do nothing without settings."""
    from pegboard.plugins.decision.kinds import why_absent

    used = {item.instance.type.rpartition(":")[2] for item in found}
    for type in sorted({fact.name for _, fact in boot.contributions("provider")} - used):
        problem = why_absent(boot, "provider", type)
        if problem is not None:
            yield type, f"is not set up: {problem.message.partition(': ')[0]}"


def _exposed(found: Sequence[Standing]) -> Iterator[Finding]:
    """Yield the providers whose key anybody on the way can read."""
    from pegboard.providers.prices import is_here

    for item in found:
        url = str(item.instance.settings.get("base_url") or "")
        if url.lower().startswith("http://") and item.instance.secrets and not is_here(url):
            yield Finding(
                "warning",
                "provider",
                f"{item.name} sends its key and all that is said to {_host(url)} without "
                "encryption.",
                f"pegboard config set {join_key(['providers', item.name, 'base_url'])} https://...",
            )


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or "its address"
    except ValueError:
        return "its address"


def _fallbacks(config: Config, names: Sequence[str]) -> Iterator[Finding]:
    """Yield fallbacks that could not stand in for anybody, since they do not exist."""
    agents = config.section("agents")
    keys = ("agent", *(f"agents.{join_key([name])}" for name in agents))
    for key in (f"{table}.fallbacks" for table in keys):
        given = config.get(key)
        for text in given if isinstance(given, list) else ():
            provider = str(text).partition("/")[0]
            if provider not in names:
                yield Finding(
                    "warning",
                    "provider",
                    f"{key} names {provider!r}, but there is only {', '.join(names)}.",
                    f"pegboard config set {key} '[\"{names[0]}\"]'",
                )
