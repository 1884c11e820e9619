"""Which provider and model a run asks."""

from __future__ import annotations

from pegboard.config.instances import Instance
from pegboard.config.load import Config
from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import NoProviderError
from pegboard.host.instances import Instances
from pegboard.providers.route import Hop, Route

OFFLINE = "offline"
"""The provider without a model: taken when there is no other."""


class Models:
    """The route of the host, made at first use.

    Args:
        config: The settings; `[agent] provider, model`.
        instances: Where providers come from.
        clock: Time.
    """

    def __init__(self, config: Config, instances: Instances, clock: Clock) -> None:
        self._config = config
        self._instances = instances
        self._clock = clock
        self._route: Route | None = None

    async def route(self) -> Route:
        """Return who is asked.

        Raises:
            NoProviderError: When no provider is installed or configured.
            PluginError: When the chosen one can't be used.
        """
        if self._route is None:
            name = self._chosen()
            provider = await self._instances.get("provider", name)
            model = self._config.get("agent.model", "")
            hop = Hop(name=name, provider=provider, model=model)
            self._route = Route([hop], clock=self._clock)
        return self._route

    def forget(self) -> None:
        """Choose again at the next run: providers came or went."""
        self._route = None

    def _chosen(self) -> str:
        """Return the configured provider, else one that has settings, else any; offline last."""
        wanted = self._config.get("agent.provider", "")
        if wanted:
            return str(wanted)
        found = self._instances.configured("provider").instances
        if found:
            return min(found, key=self._rank).name
        why = self._instances.why_none("provider")
        if why is None:
            raise NoProviderError(
                "No model provider is installed or configured.",
                fix="pip install pegboard-provider-offline",
            )
        raise NoProviderError(f"No model provider can be used: {why.message}.", fix=why.fix)

    def _rank(self, instance: Instance) -> tuple[bool, bool, str]:
        configured = bool(self._config.section(f"providers.{instance.name}"))
        return (instance.type == OFFLINE, not configured, instance.name)
