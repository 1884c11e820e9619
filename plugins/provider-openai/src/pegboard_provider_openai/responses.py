"""The provider for OpenAI's own interface, Responses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from pegboard_provider_http import is_local

from pegboard import (
    ChatRequest,
    Clock,
    ModelCaps,
    ModelInfo,
    Notice,
    ProviderEvent,
    ProviderInfo,
)
from pegboard.providers import project_tools
from pegboard_provider_openai.responses_request import responses_payload
from pegboard_provider_openai.responses_stream import ResponsesFold
from pegboard_provider_openai.server import Server

if TYPE_CHECKING:
    from pegboard_provider_openai.config import OpenAISettings


class OpenAIProvider:
    """OpenAI's Responses.

    Args:
        settings: What the operator decided.
        key: The key, or "".
        clock: Time.
    """

    def __init__(self, settings: OpenAISettings, key: str, clock: Clock) -> None:
        self._settings = settings
        self.info = ProviderInfo(
            id="openai",
            dialect="openai-responses",
            network="loopback" if is_local(settings.base_url) else "internet",
            title="OpenAI",
        )
        self._server = Server(self.info, settings, settings, key, clock)
        self._api = self._server.api

    def capabilities(self, model: str) -> ModelCaps:
        """Return what a model can take: the settings first."""
        return self._server.capabilities(model or self._settings.model)

    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        """Ask the model.

        Raises:
            ProviderError: When the request fails, at once or midway.
        """
        model = request.model or self._settings.model
        caps = self.capabilities(model)
        echoes = self._server.echoes(request, model)
        made = project_tools(request.tools if caps.tools else (), "openai")
        payload = await responses_payload(
            request,
            model=model,
            tools=made.tools,
            names=made.names,
            echoes=echoes,
            images=caps.images,
            summary=self._settings.summaries,
            freeform=self._settings.freeform,
        )
        for name, why in made.dropped:
            yield Notice("tool_dropped", f"The tool {name} can't be declared: {why}.")
        fold = ResponsesFold(self._api, made.names, model=model, max_output=request.max_output)
        async with aclosing(self._api.events("responses", payload)) as events:
            async for event in events:
                for item in fold.add(event.data):
                    yield item
        done = fold.done()
        # items with half a call in them can't come back
        state = echoes.state(done.calls if fold.whole else (), fold.items)
        yield replace(done, state=state)

    async def models(self) -> list[ModelInfo]:
        """Return the models on offer.

        Raises:
            ProviderError: When the server does not say.
        """
        return await self._server.models()

    async def aclose(self) -> None:
        """Give back connections."""
        await self._api.aclose()
