"""A service that offers models: one address, one key, one dialect."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from pegboard import ChatRequest, Clock, ModelCaps, Notice, ProviderEvent, ProviderInfo
from pegboard.providers import project_tools
from pegboard_provider_http.api import HttpApi, Timeouts, finish, is_local
from pegboard_provider_http.catalog import Catalog, ModelList
from pegboard_provider_http.echoes import Echoes
from pegboard_provider_http.exchange import Exchange, Question

if TYPE_CHECKING:
    from pegboard_provider_http.settings import ServiceSettings


def network_of(base_url: str) -> Literal["loopback", "internet"]:
    """Return how far requests to an address go."""
    return "loopback" if is_local(base_url) else "internet"


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a service.

    Args:
        name: What it is called among the secrets, to say how to set another one; "" = no key.
        value: The key, or "".
        header: Header that carries it.
    """

    name: str
    value: str = field(repr=False)
    header: str = "authorization"

    @property
    def headers(self) -> dict[str, str]:
        """The header with the key in it; none without a key."""
        value = self.value.strip()
        if not value:
            return {}
        return {self.header: f"Bearer {value}" if self.header == "authorization" else value}


class Service:
    """One address of a provider, asked with one key.

    Args:
        info: Facts about the provider.
        base_url: The address that paths are below.
        key: Its key.
        settings: What the operator decided.
        models: How it lists its models.
        clock: Time.
        headers: What its dialect wants in every request; it wins over the settings' own.

    Attributes:
        api: Makes the requests.
        catalog: The models on offer.
    """

    def __init__(
        self,
        info: ProviderInfo,
        base_url: str,
        key: Key,
        settings: ServiceSettings,
        *,
        models: ModelList,
        clock: Clock,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._info = info
        self.api = HttpApi(
            info.title,
            base_url,
            headers={**settings.headers, **(headers or {}), **key.headers},
            secrets=[key.value.strip()],
            key=key.name,
            timeouts=Timeouts(connect_s=settings.connect_s, idle_s=settings.idle_s),
            clock=clock,
        )
        self.catalog = Catalog(self.api, models, settings)

    def question(
        self,
        request: ChatRequest,
        model: str,
        caps: ModelCaps,
        schemas: Literal["anthropic", "gemini", "openai"],
    ) -> Question:
        """Return what is asked, with tools whose schemas are such as the dialect takes."""
        made = project_tools(request.tools if caps.tools else (), schemas)
        echoes = Echoes(
            request.state,
            provider=self._info.id,
            dialect=self._info.dialect,
            model=model,
            route=self.api.route,
        )
        return Question(
            request=request,
            model=model,
            caps=caps,
            tools=made.tools,
            names=made.names,
            dropped=made.dropped,
            echoes=echoes,
        )

    async def stream(
        self, request: ChatRequest, ask: Callable[[ChatRequest], Awaitable[Exchange]]
    ) -> AsyncGenerator[ProviderEvent, None]:
        """Ask, and yield what the answer says and how it ended.

        Args:
            request: The request.
            ask: Writes it in the service's dialect.

        Raises:
            ProviderError: When the request fails, at once or midway.
        """
        exchange = await ask(request)
        question, fold = exchange.question, exchange.fold
        for name, why in question.dropped:
            yield Notice("tool_dropped", f"The tool {name} can't be declared: {why}.")
        async with aclosing(self.api.events(exchange.path, exchange.payload)) as events:
            async for event in events:
                for said in fold.add(event.data):
                    yield said
                if fold.ended:  # counts may come later
                    await finish(events, lambda late: fold.add(late.data))
        done = fold.done()
        yield replace(done, state=fold.state(question.echoes, done))

    async def aclose(self) -> None:
        """Give back connections."""
        await self.api.aclose()
