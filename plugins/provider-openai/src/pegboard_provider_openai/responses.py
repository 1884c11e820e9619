"""The provider for OpenAI's own interface, Responses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from pegboard_provider_http.exchange import Exchange
from pegboard_provider_http.service import Key, Service, network_of

from pegboard import ChatRequest, Clock, ModelCaps, ModelInfo, ProviderEvent, ProviderInfo
from pegboard_provider_openai.models import MODELS
from pegboard_provider_openai.responses_request import responses_payload
from pegboard_provider_openai.responses_stream import ResponsesFold

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
            network=network_of(settings.base_url),
            title="OpenAI",
        )
        self._service = Service(
            self.info,
            settings.base_url,
            Key(settings.api_key, key),
            settings,
            models=MODELS,
            clock=clock,
        )

    def capabilities(self, model: str) -> ModelCaps:
        """Return what a model can take: the settings first."""
        return self._service.catalog.capabilities(model or self._settings.model)

    def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        """Ask the model.

        Raises:
            ProviderError: When the request fails, at once or midway.
        """
        return self._service.stream(request, self._exchange)

    async def models(self) -> list[ModelInfo]:
        """Return the models on offer.

        Raises:
            ProviderError: When the server does not say.
        """
        return await self._service.catalog.models()

    async def aclose(self) -> None:
        """Give back connections."""
        await self._service.aclose()

    async def _exchange(self, request: ChatRequest) -> Exchange:
        settings, service = self._settings, self._service
        model = request.model or settings.model
        question = service.question(request, model, self.capabilities(model), "openai")
        payload = await responses_payload(
            question, summary=settings.summaries, freeform=settings.freeform
        )
        fold = ResponsesFold(
            service.api, question.names, model=model, max_output=request.max_output
        )
        return Exchange(question, "responses", payload, fold)
