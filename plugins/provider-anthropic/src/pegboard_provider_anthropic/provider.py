"""The provider: one request, one stream. Retrying, waiting and failover are the host's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from pegboard_provider_http.exchange import Exchange
from pegboard_provider_http.service import Key, Service, network_of

from pegboard import ChatRequest, Clock, ModelCaps, ModelInfo, ProviderEvent, ProviderInfo
from pegboard_provider_anthropic.models import MODELS
from pegboard_provider_anthropic.request import messages_payload
from pegboard_provider_anthropic.stream import MessagesFold

if TYPE_CHECKING:
    from pegboard_provider_anthropic.config import AnthropicSettings


class AnthropicProvider:
    """Anthropic's Messages.

    Args:
        settings: What the operator decided.
        key: The key, or "".
        clock: Time.
    """

    def __init__(self, settings: AnthropicSettings, key: str, clock: Clock) -> None:
        self._settings = settings
        self.info = ProviderInfo(
            id="anthropic",
            dialect="anthropic-messages",
            network=network_of(settings.base_url),
            title="Anthropic",
        )
        self._service = Service(
            self.info,
            # what other clients want to be told has it at the end
            settings.base_url.rstrip("/").removesuffix("/v1"),
            Key(settings.api_key, key, settings.key_header),
            settings,
            models=MODELS,
            clock=clock,
            headers={"anthropic-version": settings.version},
        )

    def capabilities(self, model: str) -> ModelCaps:
        """Return what a model can take: the settings, the service's word, its family."""
        return self._service.catalog.capabilities(model or self._settings.model)

    def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        """Ask the model.

        Raises:
            ProviderError: When the request fails, at once or midway.
        """
        return self._service.stream(request, self._exchange)

    async def models(self) -> list[ModelInfo]:
        """Return the models on offer, with the limits that the service states.

        Raises:
            ProviderError: When the service does not say.
        """
        return await self._service.catalog.models()

    async def aclose(self) -> None:
        """Give back connections."""
        await self._service.aclose()

    async def _exchange(self, request: ChatRequest) -> Exchange:
        settings, service = self._settings, self._service
        model = request.model or settings.model
        question = service.question(request, model, self.capabilities(model), "anthropic")
        payload = await messages_payload(question, cache=settings.cache, thinking=settings.thinking)
        fold = MessagesFold(service.api, question.names)
        return Exchange(question, "v1/messages", payload, fold)
