"""What is known of models: the operator's word, the providers' answers, the table of families."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from pegboard.config.instances import Instance
from pegboard.config.keys import join_key, split_key
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.provider import ModelCaps, ModelInfo, Provider
from pegboard.providers.families import UNKNOWN, family_caps, known_family
from pegboard.providers.hop import Hop
from pegboard.providers.model_settings import ModelTable, Price
from pegboard.providers.nobody import nobody
from pegboard.providers.prices import Prices, has_prices

if TYPE_CHECKING:
    from pegboard.cli.session import Session
    from pegboard.config.load import Config
    from pegboard.host import Host

ANSWER_S: Final = 10.0
"""Seconds that a provider has to tell its models."""
_FACTS: Final = ("context", "max_output", "tools", "images", "offered")
_ASSUMED: Final = "assumed: nobody says"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """One model.

    Args:
        provider: Instance name, or "" when no provider is known to offer it.
        model: Its id there.
        title: Name for people, or "".
        caps: What it can take.
        price: US dollars for a million tokens, or None.
        is_free_here: True when it costs nothing because it runs on this machine.
        sources: Fact -> who says so.
        is_default: True when it is the one that answers.
    """

    provider: str
    model: str
    title: str = ""
    caps: ModelCaps = UNKNOWN
    price: Price | None = None
    is_free_here: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)
    is_default: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as `--json` shows them."""
        return {
            "provider": self.provider,
            "model": self.model,
            "title": self.title,
            "context": self.caps.context,
            "max_output": self.caps.max_output,
            "tools": self.caps.tools,
            "parallel": self.caps.parallel,
            "images": self.caps.images,
            "offered": list(self.caps.offered),
            "withheld": list(self.caps.withheld),
            "price": None if self.price is None else asdict(self.price),
            "sources": dict(self.sources),
            "default": self.is_default,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A provider that did not say what it offers.

    Args:
        provider: Instance name.
        message: Why.
        fix: What mends it, or None.
        configured: True when somebody wants it: it has settings, or was asked for by name.
    """

    provider: str
    message: str
    fix: str | None
    configured: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return it as `--json` shows it."""
        return asdict(self)


@dataclass(slots=True)
class Found:
    """What all providers said.

    Args:
        answers: Who answers where nobody names one, as `PROVIDER` or `PROVIDER/MODEL`; "" = nobody.
        why: Why that one.
        nobody: Why nobody does, or None.
    """

    models: list[ModelFacts] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    answers: str = ""
    why: str = ""
    nobody: PegboardError | None = None


async def listed(session: Session, only: str = "") -> Found:
    """Ask each provider that can be used for its models.

    Args:
        session: The invocation.
        only: Name of one provider; "" = all.
    """
    found = Found()
    async with session.open_host() as host:
        usual = host.models.usual()
        known = _Known(host.config, usual)
        if usual[0]:
            found.answers, found.why = "/".join(filter(None, usual)), _why(host, usual[0])
        else:
            found.nobody = nobody(session.boot, host.models.standings())
        for instance in host.instances.configured("provider").instances:
            if only in ("", instance.name):
                await _ask(host, instance, known, found)
        found.problems.extend(
            Problem(provider=split_key(item.path)[1], message=item.message, fix=item.fix)
            for item in host.instances.configured("provider").problems
            if not only
        )
        if only and not found.models and not found.problems:
            await _ask(host, Instance(only, "provider", only, "", {}), known, found)
    # a server may repeat its key in other spellings than the provider looks for
    found.problems = [
        replace(item, message=session.redactor(item.message)) for item in found.problems
    ]
    return found


def _why(host: Host, provider: str) -> str:
    """Return why a provider answers where nobody names one."""
    if host.config.get("agent.provider", ""):
        return "agent.provider names it"
    standings = host.models.standings()
    return next((item.reason for item in standings if item.name == provider), "")


async def named(session: Session, text: str) -> ModelFacts:
    """Return what is known of a model, also of one that no provider here offers.

    Args:
        session: The invocation.
        text: `PROVIDER/MODEL`, or a model.
    """
    async with session.open_host() as host:
        names = [item.name for item in host.instances.configured("provider").instances]
        provider, _, model = text.partition("/")
        known = _Known(host.config, host.models.usual())
        if provider in names and model:
            for item in (await _of_one(host, provider, known)).models:
                if item.model == model:
                    return item
            return await _unlisted(host, provider, model, known)
        for name in names:
            for item in (await _of_one(host, name, known)).models:
                if item.model == text:
                    return item
        return known.facts("", ModelInfo(id=text, caps=family_caps(text)), {})


async def _of_one(host: Host, name: str, known: _Known) -> Found:
    found = Found()
    instance = host.instances.configured("provider").named(name)
    if instance is not None:
        await _ask(host, instance, known, found)
    return found


async def _unlisted(host: Host, provider: str, model: str, known: _Known) -> ModelFacts:
    """Return what a provider says of a model that it does not list."""
    try:
        made = await host.instances.get("provider", provider)
    except PegboardError:
        caps = family_caps(model)
    else:
        caps = Hop(name=provider, provider=made).capabilities(model)
    instance = host.instances.configured("provider").named(provider)
    settings = {} if instance is None else instance.settings
    return known.facts(provider, ModelInfo(id=model, caps=caps), settings)


async def _ask(host: Host, instance: Instance, known: _Known, found: Found) -> None:
    import anyio

    usual = str(instance.settings.get("model", ""))
    models: list[ModelInfo] = []
    made: Provider | None = None
    problem: tuple[str, str | None] | None = None
    try:
        made = await host.instances.get("provider", instance.name)
        with anyio.fail_after(ANSWER_S):
            models = await made.models()
    except TimeoutError:
        problem = f"It did not tell its models within {ANSWER_S:g} s.", None
    except PegboardError as error:
        problem = error.message, error.fix
    except Exception as error:  # a plugin's own: the others are still listed
        problem = f"It failed: {type(error).__name__}.", None
    if problem is not None:
        message, fix = problem
        is_wanted = known.wants(instance.name)
        found.problems.append(
            Problem(provider=instance.name, message=message, fix=fix, configured=is_wanted)
        )
    if made is not None and usual and usual not in [model.id for model in models]:
        caps = Hop(name=instance.name, provider=made).capabilities(usual)
        models = [ModelInfo(id=usual, caps=caps), *models]
    alone = len(models) == 1
    found.models.extend(
        known.facts(instance.name, model, instance.settings, alone=alone)
        for model in sorted(models, key=lambda model: model.id)
    )


class _Known:
    """What is known beside the providers' answers.

    Args:
        config: The settings.
        usual: Who answers: provider and model, each "" where nobody chose.
    """

    def __init__(self, config: Config, usual: tuple[str, str]) -> None:
        self._table = ModelTable(config.section("models"))
        self._prices = Prices(self._table, config.section("providers"))
        self._usual = usual
        self._wanted = frozenset({usual[0], *config.section("providers")})

    def wants(self, provider: str) -> bool:
        """Tell whether somebody wants a provider, and did not just install it with others."""
        return provider in self._wanted

    def facts(
        self,
        provider: str,
        model: ModelInfo,
        settings: Mapping[str, Any],
        *,
        alone: bool = False,
    ) -> ModelFacts:
        """Return all that is known of a model.

        Args:
            provider: Instance name, or "".
            model: What the provider says.
            settings: The settings of the instance.
            alone: True when the provider has no other.
        """
        price, who = self._prices.price(provider, model.id)
        sources = {fact: self._source(fact, provider, model, settings) for fact in _FACTS}
        _, entry = self._table.price(provider, model.id)
        sources["price"] = {
            "settings": f'settings: [models."{entry}"]',
            "free": f"provider {provider}",
            "unknown": self._no_price(provider, model.id),
        }.get(who, who)
        usual, chosen = self._usual
        chosen = chosen or str(settings.get("model", "")) or (model.id if alone else "")
        return ModelFacts(
            provider=provider,
            model=model.id,
            title=model.title,
            caps=self._table.caps(provider, model.id, model.caps),
            price=price,
            is_free_here=who == "free",
            sources=sources,
            is_default=bool(provider) and (usual, chosen) == (provider, model.id),
        )

    def _no_price(self, provider: str, model: str) -> str:
        if not provider:
            return "depends on the provider"
        if self._prices.may_be_free(provider):
            key = shlex.quote(join_key(["models", f"{provider}/{model}", "price"]))
            free = f"pegboard config set {key} '{{input = 0, output = 0}}'"
            return f"nobody says; where it runs on this machine: {free}"
        if has_prices():
            return "nobody says; yours: pegboard config set 'models.\"MODEL\".price' ..."
        return "the vendors' prices are not installed: pip install 'pegboard[cost]'"

    def _source(
        self, fact: str, provider: str, model: ModelInfo, settings: Mapping[str, Any]
    ) -> str:
        _, name = self._table.find(provider, model.id, fact)
        if name:
            return f'settings: [models."{name}"]'
        if settings.get(fact) is not None:
            return f"settings: [providers.{provider}]"
        if fact in model.told:
            return f"provider {provider}"
        family = known_family(model.id)
        value = getattr(model.caps, fact)
        if family is not None and value == getattr(family, fact):
            return "table of families"
        if family is None and value == getattr(family_caps(model.id), fact):
            return _ASSUMED
        return f"provider {provider}"
