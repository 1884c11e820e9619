"""The provider to ask, and those to ask when it fails."""

from __future__ import annotations

import logging
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Sequence,
)
from contextlib import aclosing
from dataclasses import dataclass, replace

from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import NoProviderError
from pegboard.contracts.provider import (
    NO_USAGE,
    ChatRequest,
    ModelCaps,
    Notice,
    Provider,
    ProviderError,
    ProviderEvent,
    Usage,
)
from pegboard.plugins.building.isolation import is_plugin_fault
from pegboard.providers.collect import StreamFold, lawful
from pegboard.providers.retry import (
    DEFAULT_RETRY,
    RetryPolicy,
    continuation_wait,
    first_wait,
    may_fail_over,
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One provider of a route.

    Args:
        name: Instance name.
        provider: The provider.
        model: Model to ask; "" = the provider's default.
    """

    name: str
    provider: Provider
    model: str = ""

    @property
    def title(self) -> str:
        """The provider's name for people."""
        return self.provider.info.title or self.name

    def capabilities(self, model: str) -> ModelCaps:
        """Return what `model` can take; the usual when the provider fails to say."""
        try:
            return self.provider.capabilities(model)
        except BaseException as error:
            if not is_plugin_fault(error):
                raise
            _log.info("provider %s can't tell its capabilities", self.name, exc_info=error)
            return ModelCaps()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAttempt:
    """One request that was made, for observers. `error` is the kind of failure, or None."""

    hop: Hop
    model: str
    usage: Usage
    duration_ms: float
    error: str | None


OnAttempt = Callable[[ModelAttempt], Awaitable[None]]


class Route:
    """A primary provider and its fallbacks, shared by many runs.

    Args:
        hops: The primary first.
        clock: Time, for waits.
        retry: How long to wait between attempts.
        notice: What the first run tells a person, or None.

    Raises:
        NoProviderError: When there is no provider.
    """

    def __init__(
        self,
        hops: Sequence[Hop],
        *,
        clock: Clock,
        retry: RetryPolicy = DEFAULT_RETRY,
        notice: Notice | None = None,
    ) -> None:
        if not hops:
            raise NoProviderError(
                "No model provider is installed or configured.",
                fix="pip install pegboard-provider-offline",
            )
        self.hops = tuple(hops)
        self.clock = clock
        self.retry = retry
        self._notice = notice

    @property
    def primary(self) -> Hop:
        """The provider asked first."""
        return self.hops[0]

    def take_notice(self) -> Notice | None:
        """Return what a person should know about this choice, the first time only."""
        notice, self._notice = self._notice, None
        return notice

    def session(
        self, *, on_attempt: OnAttempt | None = None, seen: set[str] | None = None
    ) -> RouteSession:
        """Return what one run asks through.

        Args:
            on_attempt: Called after every request.
            seen: Ids of calls already used in the conversation.
        """
        return RouteSession(self, on_attempt, set() if seen is None else seen)


class RouteSession:
    """The route as one run sees it: once a provider has answered, the run stays with it.

    Attributes:
        hop: The provider in use.
        model: The model that was asked last; "" = the provider's default.
        answered: True after the first answer; from then on requests are continuations.
    """

    def __init__(self, route: Route, on_attempt: OnAttempt | None, seen: set[str]) -> None:
        self.hop = route.primary
        self.model = self.hop.model
        self.answered = False
        self._route = route
        self._on_attempt = on_attempt
        self._seen = seen
        self._position = 0
        self._told_no_tools = False
        self._fold = StreamFold(self.hop.provider.info)

    def resume(self, hop: str, model: str, calls: Iterable[str]) -> bool:
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
        for position, known in enumerate(self._route.hops):
            if known.name == hop:
                self.hop, self._position, self.answered = known, position, True
                self.model = model
                return model == known.model
        self.hop, self._position, self.answered = self._route.primary, 0, False
        return False

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ProviderEvent, None]:
        """Ask, and pass on the events up to and with `Done`.

        The first request is retried and failed over while nothing was shown; a continuation is only
        retried, and only when no data had arrived. Tools are never run again.

        Raises:
            ProviderError: When no attempt succeeded; `details["provider"]` names who failed.
        """
        notice = self._route.take_notice()
        if notice is not None:
            yield notice
        attempt, waited = 0, 0.0
        failures: list[ProviderError] = []
        while True:
            attempt += 1
            try:
                async with aclosing(self._attempt(request)) as events:
                    async for event in events:
                        yield event
            except ProviderError as error:
                error.details.setdefault("provider", self.hop.title)
                wait = self._wait(error, attempt, waited)
                if wait is not None:
                    waited += wait
                    await self._route.clock.sleep(wait)
                    continue
                failures.append(error)
                failed = self.hop
                if not self._advance(error, request):
                    raise _chained(failures) from error
                attempt, waited = 0, 0.0
                yield Notice(
                    "failover",
                    f"{failed.title} failed ({error.kind}); asking {self.hop.title} instead.",
                )
            else:
                self.answered = True
                return

    async def _attempt(self, request: ChatRequest) -> AsyncGenerator[ProviderEvent, None]:
        hop, clock = self.hop, self._route.clock
        ready = self._fitted(request)
        self.model = ready.model
        self._fold = fold = StreamFold(hop.provider.info, seen=self._seen)
        if request.tools and not ready.tools and not self._told_no_tools:
            self._told_no_tools = True
            yield Notice("no_tools", f"{hop.title} can't call tools with this model.")
        started = clock.monotonic()
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
                        model=ready.model,
                        usage=fold.done.usage if fold.done else NO_USAGE,
                        duration_ms=(clock.monotonic() - started) * 1000,
                        error=failure,
                    )
                )

    def _fitted(self, request: ChatRequest) -> ChatRequest:
        hop = self.hop
        model = request.model if request.model and self._position == 0 else hop.model
        state, info = request.state, hop.provider.info
        moved = self._position != 0 and not self.answered
        if state and (moved or (state.provider, state.dialect) != (info.id, info.dialect)):
            state = None  # another provider can't read it; the portable messages say the same
        tools = request.tools
        if tools and not hop.capabilities(model).tools:
            tools = ()
        return replace(request, model=model, state=state, tools=tools)

    def _wait(self, error: ProviderError, attempt: int, waited: float) -> float | None:
        policy = self._route.retry
        if self.answered:
            return continuation_wait(error, attempt, self._fold.data, policy)
        return first_wait(error, attempt, waited, policy)

    def _advance(self, error: ProviderError, request: ChatRequest) -> bool:
        if self.answered or not may_fail_over(error):
            return False
        window = self.hop.capabilities(self.hop.model).context
        for position in range(self._position + 1, len(self._route.hops)):
            hop = self._route.hops[position]
            larger = hop.capabilities(hop.model).context > window
            if error.kind != "context_overflow" or larger:
                self.hop, self._position = hop, position
                return True
        return False


def _opened(
    provider: Provider, request: ChatRequest, fold: StreamFold
) -> AsyncIterator[ProviderEvent]:
    try:
        return provider.stream(request)
    except ProviderError:
        raise
    except BaseException as error:
        raise fold.failure(error) from error


def _chained(failures: list[ProviderError]) -> ProviderError:
    last = failures[-1]
    if len(failures) == 1:
        return last
    told = "; ".join(f"{error.details['provider']}: {error.message}" for error in failures)
    return ProviderError(
        f"No provider of the route answered. {told}",
        kind=last.kind,
        fix=next((error.fix for error in failures if error.fix), None),
        status=last.status,
        retry_after=last.retry_after,
        reset_at=last.reset_at,
        started=last.started,
        **last.details,
    )
