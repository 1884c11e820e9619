"""The provider to ask, and those to ask when it fails."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace

from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import BudgetError, NoProviderError, PegboardError
from pegboard.contracts.provider import (
    NO_USAGE,
    ChatRequest,
    Notice,
    Provider,
    ProviderError,
    ProviderEvent,
    Restart,
    TextDelta,
    ThinkingDelta,
)
from pegboard.providers.collect import StreamFold, lawful
from pegboard.providers.cooldown import Cooldowns
from pegboard.providers.hop import Admit, Hop, LateHop, ModelAttempt, OnAttempt
from pegboard.providers.retry import (
    DEFAULT_RETRY,
    RetryPolicy,
    continuation_wait,
    first_wait,
    may_fail_over,
)
from pegboard.providers.suited_tools import suited
from pegboard.providers.walk import Walk, order, skipped

__all__ = ["Hop", "LateHop", "ModelAttempt", "OnAttempt", "Route", "RouteSession"]


class Route:
    """A primary provider and its fallbacks, shared by many runs; it never changes.

    Args:
        hops: The provider asked first, then those asked when it fails, in order.
        clock: Time, for waits.
        retry: How long to wait between attempts.
        cooldowns: Who failed a short while ago; None = only what this route sees itself.
        mid_run: True to ask the fallbacks also when a run is in the middle.
        notice: What the first run tells a person, or None.
        told: What every run tells.

    Raises:
        NoProviderError: When there is no provider.
    """

    def __init__(
        self,
        hops: Sequence[Hop | LateHop],
        *,
        clock: Clock,
        retry: RetryPolicy = DEFAULT_RETRY,
        cooldowns: Cooldowns | None = None,
        mid_run: bool = False,
        notice: Notice | None = None,
        told: Sequence[Notice] = (),
    ) -> None:
        if not hops or not isinstance(hops[0], Hop):
            raise NoProviderError(
                "No model provider is installed or configured.",
                fix="pip install pegboard-provider-offline",
            )
        self.primary = hops[0]
        self.hops = tuple(hops)
        self.clock = clock
        self.retry = retry
        self.cooldowns = Cooldowns(clock) if cooldowns is None else cooldowns
        self.mid_run = mid_run
        self._notice = notice
        self._told = tuple(told)

    @property
    def whole(self) -> bool:
        """True when there is nothing that every run would have to tell of it."""
        return not self._told

    def place(self, name: str, model: str) -> int | None:
        """Return the place of a provider: with just this model, else with any; None = nowhere."""
        named = [place for place, hop in enumerate(self.hops) if hop.name == name]
        exact = [place for place in named if self.hops[place].model == model]
        return next(iter((*exact, *named)), None)

    def order(self, first: int | None = None) -> list[int]:
        """Return the places in the order in which they are asked now.

        Args:
            first: The place that comes first, or None.
        """
        return order([self.cooldowns.of(hop.name, hop.model) for hop in self.hops], first)

    def take_notices(self) -> Sequence[Notice]:
        """Return what a person should know about this choice; some of it the first time only."""
        once, self._notice = self._notice, None
        return self._told if once is None else (once, *self._told)

    def session(
        self,
        *,
        on_attempt: OnAttempt | None = None,
        admit: Admit | None = None,
        seen: set[str] | None = None,
        retracts: bool = False,
    ) -> RouteSession:
        """Return what one run asks through.

        Args:
            on_attempt: Called after every request.
            admit: Called before every request.
            seen: Ids of calls already used in the conversation.
            retracts: True when nobody sees the text as it comes, or it can be taken back.
        """
        known = set() if seen is None else seen
        return RouteSession(self, on_attempt, known, admit=admit, retracts=retracts)


class RouteSession:
    """The route as one run sees it: once a provider has answered, the run stays with it.

    Attributes:
        hop: The provider in use.
        model: The model that was asked last; "" = the provider's default.
        answered: True after the first answer; from then on requests are continuations.
    """

    def __init__(
        self,
        route: Route,
        on_attempt: OnAttempt | None,
        seen: set[str],
        *,
        admit: Admit | None,
        retracts: bool,
    ) -> None:
        self.hop = route.primary
        self.model = self.hop.model
        self._route = route
        self._on_attempt = on_attempt
        self._admit = admit
        self._seen = seen
        self._retracts = retracts
        self._place = 0
        self._answered_by: tuple[int, str] | None = None
        self._begun = False
        self._told_no_tools = False
        self._muted = False
        self._asked = 0.0
        self._fold = StreamFold(self.hop.provider.info)

    @property
    def answered(self) -> bool:
        """True after the first answer."""
        return self._answered_by is not None

    async def resume(self, hop: str, model: str, calls: Iterable[str]) -> bool:
        """Take an answer of an earlier attempt of the run as if it had come in now.

        A provider that the route no longer has is not asked: the next request is a first one.

        Args:
            hop: Name of the provider that gave it.
            model: The model that was asked.
            calls: Ids of the calls that it asked for.

        Returns:
            True when the next request goes to the same model of the same provider, so that the
            state of the answer means something there.
        """
        self._seen.update(calls)
        place = self._route.place(hop, model)
        if place is None or not await self._entered(place, Walk([])):
            self.hop, self._place, self._answered_by = self._route.primary, 0, None
            return False
        same = model == self.hop.model
        self.model = model
        self._answered_by = (place, model)
        return same

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ProviderEvent, None]:
        """Ask, and pass on the events up to and with `Done`.

        The first request is retried, and failed over: while nothing was shown, or where what was
        shown can be taken back, by a `Restart`. A continuation is retried when no data had arrived,
        and failed over only where the route says so. Tools are never run again.

        Raises:
            ProviderError: When no attempt succeeded; `details["provider"]` names who failed.
            BudgetError: When a request may not be made.
        """
        self._muted = False
        walk = Walk(self._plan())
        for notice in self._beginning(walk.plan):
            yield notice
        while walk.again or await self._advance(walk):
            if walk.partial:
                yield Restart(len(walk.failures), self.hop.name)
            for notice in walk.news(self.hop):
                yield notice
            try:
                async with aclosing(self._attempt(request)) as events:
                    async for event in events:
                        if self._retracts or self._passes(event):
                            yield event
            except (ProviderError, BudgetError) as error:
                if not await self._goes_on(walk, error):
                    break
            else:
                self._answered_by = (self._place, self.model)
                cooldowns = self._route.cooldowns
                cooldowns.answered(self.hop.name, self.hop.model, asked=self._asked)
                return
        raise walk.error(self._route.clock.now())

    def _plan(self) -> list[int]:
        if not self.answered:
            return self._route.order()
        return self._route.order(self._place)[: None if self._route.mid_run else 1]

    def _beginning(self, plan: Sequence[int]) -> Iterable[Notice]:
        """Yield what is told before the first request of the run."""
        if self._begun:
            return
        self._begun = True
        route = self._route
        yield from route.take_notices()
        for hop in route.hops[: plan[0]]:
            cooling = route.cooldowns.of(hop.name, hop.model)
            if cooling is not None:
                yield skipped(hop.label, cooling)

    async def _advance(self, walk: Walk) -> bool:
        """Go to the next provider that can be asked; False when there is none."""
        while walk.plan:
            if await self._entered(walk.plan.pop(0), walk):
                return True
        return False

    async def _entered(self, place: int, walk: Walk) -> bool:
        late = self._route.hops[place]
        try:
            hop = await late.opened()
        except PegboardError as error:
            walk.unusable(late.name, error)
            return False
        if not walk.fits(hop):
            return False
        self.hop, self._place = hop, place
        return True

    def _passes(self, event: ProviderEvent) -> bool:
        """Tell whether an event is passed on where nothing that was shown can be taken back."""
        self._muted = self._muted or isinstance(event, Restart)
        return not (self._muted and isinstance(event, (Restart, TextDelta, ThinkingDelta)))

    async def _goes_on(self, walk: Walk, error: ProviderError | BudgetError) -> bool:
        """Take in a failure, and wait where the same provider is asked again.

        Returns:
            False when neither it nor another one is asked.

        Raises:
            BudgetError: When a budget is used up. A model without a price is only left out.
        """
        if isinstance(error, BudgetError):
            if not (walk.plan and error.details.get("unpriced")):
                raise error
            walk.unusable(self.hop.name, error)
            return True
        hop, route = self.hop, self._route
        error.details.setdefault("provider", hop.title)
        wait = self._wait(error, walk.tries + 1, walk.waited)
        if wait is not None:
            walk.tried_again(wait)
            await route.clock.sleep(wait)
            return True
        walk.failed(hop, self.model, error)
        route.cooldowns.failed(hop.name, hop.model, error)
        return may_fail_over(error, retracts=self._retracts)

    async def _attempt(self, request: ChatRequest) -> AsyncGenerator[ProviderEvent, None]:
        hop, clock = self.hop, self._route.clock
        ready = self._fitted(request)
        self.model = ready.model
        self._fold = fold = StreamFold(hop.provider.info, seen=self._seen)
        if request.tools and not ready.tools and not self._told_no_tools:
            self._told_no_tools = True
            yield Notice("no_tools", f"{hop.title} can't call tools with this model.")
        if self._admit is not None:
            await self._admit(hop.name, ready.model)
        self._asked = started = clock.monotonic()
        failure: str | None = None
        try:
            async with aclosing(lawful(_opened(hop.provider, ready, fold), fold)) as events:
                async for event in events:
                    yield event
        except ProviderError as error:
            failure = error.kind
            raise
        finally:
            if self._on_attempt is not None and (fold.done is not None or failure):
                await self._on_attempt(
                    ModelAttempt(
                        hop=hop,
                        model=ready.model or fold.model,
                        usage=fold.done.usage if fold.done else NO_USAGE,
                        duration_ms=(clock.monotonic() - started) * 1000,
                        error=failure,
                    )
                )

    def _fitted(self, request: ChatRequest) -> ChatRequest:
        hop, state = self.hop, request.state
        model = request.model if request.model and self._place == 0 else hop.model
        if state is not None and not self._reads(state.provider, state.dialect, model):
            state = None  # another can't read it; the portable messages say the same
        tools = request.tools
        if tools:
            caps = hop.capabilities(model)
            forced = caps.forced and request.tool_choice == "required"
            tools = suited(tools, caps) if caps.tools or forced else ()
        return replace(request, model=model, state=state, tools=tools)

    def _reads(self, provider: str, dialect: str, model: str) -> bool:
        """Tell whether the state of the last answer means something to who is asked now."""
        info = self.hop.provider.info
        if (provider, dialect) != (info.id, info.dialect):
            return False
        if self._answered_by is None:
            return self._place == 0
        return self._answered_by == (self._place, model)

    def _wait(self, error: ProviderError, attempt: int, waited: float) -> float | None:
        policy = self._route.retry
        if self._answered_by is not None and self._answered_by[0] == self._place:
            return continuation_wait(error, attempt, self._fold.data, policy)
        return first_wait(error, attempt, waited, policy)


def _opened(
    provider: Provider, request: ChatRequest, fold: StreamFold
) -> AsyncIterator[ProviderEvent]:
    try:
        return provider.stream(request)
    except ProviderError:
        raise
    except BaseException as error:
        raise fold.failure(error) from error
