"""Which provider and model a run asks."""

from __future__ import annotations

from collections.abc import Callable

from pegboard.config.instances import Instance
from pegboard.config.load import Config
from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import ConfigError, NoProviderError
from pegboard.contracts.provider import Notice
from pegboard.host.instances import Instances
from pegboard.providers.route import Hop, Route

OFFLINE = "offline"
"""The provider without a model: taken when there is no other."""


class Models:
    """The routes of the host; the usual one is made at first use.

    Args:
        config: The settings; `[agent] provider, model`.
        instances: Where providers come from.
        clock: Time.
        has_secret: Says whether a secret is set.
    """

    def __init__(
        self,
        config: Config,
        instances: Instances,
        clock: Clock,
        *,
        has_secret: Callable[[str], bool],
    ) -> None:
        self._config = config
        self._instances = instances
        self._clock = clock
        self._has_secret = has_secret
        self._route: Route | None = None
        self._told: set[str] = set()

    async def route(self, provider: str = "", model: str = "") -> Route:
        """Return who is asked.

        Args:
            provider: Provider instance; "" = the one of `[agent]`, else the best.
            model: Model; "" = the one of `[agent]`, or the default of a provider that was named.

        Raises:
            NoProviderError: When no provider is installed or configured.
            PluginError: When the chosen one can't be used, or does not exist.
        """
        if provider:
            return await self._made(provider, model)
        if model:
            return await self._usual(model)
        if self._route is None:
            self._route = await self._usual(self._config.get("agent.model", ""))
        return self._route

    def take(self, config: Config) -> None:
        """Go by other settings from the next run on."""
        self._config = config
        self.forget()

    def forget(self) -> None:
        """Choose again at the next run: providers came or went."""
        self._route = None

    async def _usual(self, model: str) -> Route:
        wanted = str(self._config.get("agent.provider", ""))
        if wanted:
            return await self._made(wanted, model)
        chosen = self._chosen()
        notice = self._announcement(chosen) if self._has_keys(chosen) else None
        return await self._made(chosen.name, model, notice)

    async def _made(self, name: str, model: str, notice: Notice | None = None) -> Route:
        provider = await self._instances.get("provider", name)
        hop = Hop(name=name, provider=provider, model=model)
        return Route([hop], clock=self._clock, notice=notice)

    def _chosen(self) -> Instance:
        """Return a provider that has settings, else one whose key is set, else any; offline last.

        One that has neither settings nor its key was only installed, so it is nobody's wish: it is
        taken where there is no other, and then its error names the key.
        """
        found = self._instances.configured("provider").instances
        usable = [item for item in found if self._is_configured(item) or self._has_keys(item)]
        if found:
            return min(usable or found, key=self._rank)
        why = self._instances.why_none("provider")
        if why is None:
            raise NoProviderError(
                "No model provider is installed or configured.",
                fix="pip install pegboard-provider-offline",
            )
        raise NoProviderError(f"No model provider can be used: {why.message}.", fix=why.fix)

    def _rank(self, instance: Instance) -> tuple[bool, bool, str]:
        return (instance.type == OFFLINE, not self._is_configured(instance), instance.name)

    def _is_configured(self, instance: Instance) -> bool:
        return bool(self._config.section(f"providers.{instance.name}"))

    def _has_keys(self, instance: Instance) -> bool:
        try:
            return all(map(self._has_secret, instance.secrets))
        except ConfigError:
            return False  # the file of secrets is broken

    def _announcement(self, instance: Instance) -> Notice | None:
        """Return what a person is told, once, about a provider that nobody chose by name."""
        if not instance.secrets or self._is_configured(instance) or instance.name in self._told:
            return None
        self._told.add(instance.name)
        keys = " and ".join(sorted(instance.secrets))
        return Notice(
            "provider_chosen",
            f"{instance.name} answers, because its key {keys} is set. "
            f"To choose for good: pegboard config set agent.provider {instance.name}",
        )
