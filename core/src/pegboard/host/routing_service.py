"""The service `routing`: whom the agent of a call asks, and how that is changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pegboard.config.agents import MAIN
from pegboard.config.keys import join_key
from pegboard.config.nearest import did_you_mean
from pegboard.contracts.errors import PluginError, UsageError
from pegboard.contracts.result import ChangeConfig
from pegboard.contracts.routing import ModelChoice, RouteInfo
from pegboard.host.agents import Agents
from pegboard.host.model_choice import read_fallback
from pegboard.host.models import Models
from pegboard.providers.retry import span
from pegboard.tools.current_call import current_call

EFFORTS: Final = ("low", "medium", "high")
_OWN: Final = ("provider", "model", "effort", "fallbacks")


class RoutingService:
    """Whom the agent of a call asks; implements `Routing`.

    Args:
        models: Who is asked, by the settings in force.
        agents: The named agents.
        providers: Returns the names of the configured providers.
    """

    def __init__(
        self,
        models: Models,
        agents: Agents,
        providers: Callable[[], Sequence[str]],
    ) -> None:
        self._models = models
        self._agents = agents
        self._providers = providers

    async def view(self) -> RouteInfo:
        """Return whom the caller's agent asks."""
        agent = self._agents.get(_agent())
        route = await self._models.route(*agent.model_choice)
        chain = tuple(
            ModelChoice(provider=hop.name, model=hop.model, rests=self._rests(hop.name, hop.model))
            for hop in route.hops
        )
        return RouteInfo(
            agent=agent.id,
            chain=chain,
            effort=agent.effort or self._models.config.get("agent.effort"),
            providers=tuple(self._providers()),
        )

    async def change(
        self,
        *,
        provider: str | None = None,
        model: str | None = None,
        effort: str | None = None,
        fallbacks: Sequence[str] | None = None,
    ) -> ChangeConfig | None:
        """Return the change of the configuration that sets what is given."""
        wanted: dict[str, Any] = {}
        if provider is not None:
            self._require(provider)
            wanted["provider"] = provider
            wanted["model"] = model or ""  # a model belongs to its provider
        elif model is not None:
            wanted["model"] = model
        if effort is not None:
            wanted["effort"] = _effort(effort)
        if fallbacks is not None:
            for item in fallbacks:
                self._require(read_fallback(item)[0])
            wanted["fallbacks"] = list(fallbacks)
        if not wanted:
            raise UsageError(
                "Nothing to change was given.", fix="Give provider, model, effort or fallbacks."
            )
        return self._changing(_agent(), wanted)

    def _changing(self, agent: str, wanted: Mapping[str, Any]) -> ChangeConfig | None:
        table = f"agents.{join_key([agent])}"
        own = self._models.config.section(table)
        if agent == MAIN and not any(own.get(name) for name in _OWN):
            table = "agent"
        now = self._models.config.section(table)
        news = {
            name: value
            for name, value in wanted.items()
            if (now.get(name) or None) != (value or None)
        }
        if not news:
            return None
        (first, value), *others = news.items()
        listed = "\n".join(
            f"  {name}: {_told(now.get(name))} -> {_told(new)}" for name, new in news.items()
        )
        return ChangeConfig(
            f"May I change which model the agent {agent} asks, from the next message on?\n{listed}",
            f"{table}.{first}",
            value,
            also={f"{table}.{name}": new for name, new in others},
        )

    def _rests(self, provider: str, model: str) -> str:
        cooling = self._models.cooldowns.of(provider, model)
        if cooling is None:
            return ""
        return (
            f"it failed ({cooling.kind}); others are asked first for about {span(cooling.left_s)}"
        )

    def _require(self, provider: str) -> None:
        known = self._providers()
        if provider not in known:
            raise UsageError(
                f"There is no provider {provider!r}{did_you_mean(provider, known)}",
                fix=f"There is: {', '.join(known)}.",
            )


def _agent() -> str:
    """Return the agent of the call that is being answered.

    Raises:
        PluginError: When none is.
    """
    call = current_call.get()
    if call is None:
        raise PluginError(
            "The service routing answers only during a call of a tool.",
            fix="Ask in the tool itself, not in a lifespan or a hook.",
        )
    return call.caller.agent


def _effort(effort: str) -> str | None:
    if effort and effort not in EFFORTS:
        raise UsageError(
            f"There is no effort {effort!r}{did_you_mean(effort, EFFORTS)}",
            fix=f"There is: {', '.join(EFFORTS)}.",
        )
    return effort or None


def _told(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "nobody"
    return str(value or "as it comes")
