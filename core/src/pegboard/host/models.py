"""Which provider and model a run asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from pegboard.config.load import Config
from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import NoProviderError, PegboardError
from pegboard.contracts.provider import Notice
from pegboard.host.instances import Instances
from pegboard.host.model_choice import names, read_fallback
from pegboard.providers.choice import Standing, announcement, chosen, standings
from pegboard.providers.cooldown import Cooldowns
from pegboard.providers.hop import Correct
from pegboard.providers.model_settings import ModelTable
from pegboard.providers.nobody import nobody
from pegboard.providers.route import LateHop, Route


class Models:
    """The routes of the host; the usual one is made at first use.

    Args:
        config: The settings; `[agent] provider, model, fallbacks, failover_mid_run`.
        instances: Where providers come from.
        clock: Time.
        has_secret: Says whether a secret is set.

    Attributes:
        cooldowns: Who failed a short while ago, in whatever run.
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
        self.cooldowns = Cooldowns(clock)
        self._route: Route | None = None
        self._told: set[str] = set()

    @property
    def config(self) -> Config:
        """The settings in force."""
        return self._config

    async def route(
        self, provider: str = "", model: str = "", fallbacks: Sequence[str] | None = None
    ) -> Route:
        """Return who is asked, and who when that fails: as it is now, whatever changes later.

        Args:
            provider: Provider instance; "" = the one of `[agent]`, else the best.
            model: Model; "" = the one of `[agent]`, or the default of a provider that was named.
            fallbacks: `PROVIDER` or `PROVIDER/MODEL`, each asked when those before it failed; None
                = those of `[agent]` where neither provider nor model is given, else nobody.

        Raises:
            NoProviderError: When no provider is installed or configured.
            PluginError: When the chosen one can't be used, or does not exist, and no other is asked
                in its place.
        """
        if provider:
            return await self._made(provider, model, fallbacks or ())
        if model:
            return await self._usual(model, fallbacks or ())
        if fallbacks is not None:
            return await self._usual(self._config.get("agent.model", ""), fallbacks)
        if self._route is None:
            own = names(self._config.get("agent.fallbacks", ())) or ()
            route = await self._usual(self._config.get("agent.model", ""), own)
            if route.whole:
                self._route = route
            return route
        return self._route

    def usual(self) -> tuple[str, str]:
        """Return the provider that answers where nobody asks for another, and its model.

        Either is "" where there is none, or it is the provider's default.
        """
        wanted, model = (str(self._config.get(f"agent.{key}", "")) for key in ("provider", "model"))
        try:
            return wanted or self._first(self.standings()).name, model
        except NoProviderError:
            return "", model

    def take(self, config: Config) -> None:
        """Go by other settings from the next run on."""
        self._config = config
        self.forget()

    def forget(self) -> None:
        """Choose again at the next run: providers came or went."""
        self._route = None
        self.cooldowns.forget()

    async def _usual(self, model: str, fallbacks: Sequence[str]) -> Route:
        wanted = str(self._config.get("agent.provider", ""))
        if wanted:
            return await self._made(wanted, model, fallbacks)
        found = self.standings()
        name = self._first(found).name
        return await self._made(name, model, fallbacks, self._announcement(name, found))

    async def _made(
        self, name: str, model: str, fallbacks: Sequence[str], notice: Notice | None = None
    ) -> Route:
        """Return the route that begins with the first provider that can be made."""
        hops = [self._late(name, model), *(self._late(*read_fallback(it)) for it in fallbacks)]
        told: list[Notice] = []
        while True:
            late = hops.pop(0)
            try:
                first = await late.opened()
            except PegboardError as error:
                if not hops:
                    raise
                told.append(_unusable(late.name, error, hops[0].name))
            else:
                break
        return Route(
            [first, *hops],
            clock=self._clock,
            cooldowns=self.cooldowns,
            mid_run=bool(self._config.get("agent.failover_mid_run", False)),
            notice=None if told else notice,
            told=told,
        )

    def _late(self, name: str, model: str) -> LateHop:
        make = partial(self._instances.get, "provider", name)
        return LateHop(name=name, make=make, model=model, correct=self._corrections(name))

    def _corrections(self, name: str) -> Correct:
        """Return what puts the operator's word over what a provider says of a model."""
        table = ModelTable(self._config.section("models"))
        instance = self._instances.configured("provider").named(name)
        usual = "" if instance is None else str(instance.settings.get("model", ""))
        return lambda model, caps: table.caps(name, model or usual, caps)

    def standings(self) -> list[Standing]:
        """Return how the providers stand: those first that answer where nobody names one."""
        found = self._instances.configured("provider").instances
        return standings(found, self._config.section("providers"), self._has_secret)

    def _first(self, found: Sequence[Standing]) -> Standing:
        """Return a provider that has settings, else one whose key is set, else any; offline last.

        One that has neither settings nor its key was only installed, so it is nobody's wish.

        Raises:
            NoProviderError: When nobody can answer; it names all ways to a model.
        """
        first = chosen(found)
        if first is None:
            raise nobody(self._instances.boot, found)
        return first

    def _announcement(self, name: str, found: Sequence[Standing]) -> Notice | None:
        """Return what a person is told, once, about a provider that nobody chose by name."""
        text = None if name in self._told else announcement(found)
        if text is None:
            return None
        self._told.add(name)
        return Notice("provider_chosen", text)


def _unusable(name: str, error: PegboardError, next_name: str) -> Notice:
    """Return what is told, in every turn, of a provider that can't even be asked."""
    mend = f" Run: {error.fix}" if error.fix else ""
    return Notice("failover", f"{error.message} Asking {next_name} instead.{mend}")
