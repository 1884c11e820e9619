"""The provider: one request, one stream. Retrying, waiting and failover are the host's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from pegboard_provider_http.exchange import Exchange
from pegboard_provider_http.service import Key, Service, network_of

from pegboard import ChatRequest, Clock, ModelCaps, ModelInfo, ProviderEvent, ProviderInfo
from pegboard_provider_gemini.models import MODELS, plain, resource
from pegboard_provider_gemini.request import generate_payload
from pegboard_provider_gemini.stream import GenerateFold

if TYPE_CHECKING:
    from pegboard_provider_gemini.config import GeminiSettings


class GeminiProvider:
    """Google's generateContent.

    Args:
        settings: What the operator decided.
        key: The key, or "".
        clock: Time.
        new_id: Makes ids of calls that have none; unique beyond this run, for the conversation's
            sake.
    """

    def __init__(
        self, settings: GeminiSettings, key: str, clock: Clock, new_id: Callable[[], str]
    ) -> None:
        self._settings = settings
        self._new_id = new_id
        self.info = ProviderInfo(
            id="gemini",
            dialect="gemini-generate",
            network=network_of(settings.base_url),
            title="Gemini",
        )
        version = settings.api_version
        self._service = Service(
            self.info,
            # what other clients want to be told may have it at the end
            f"{settings.base_url.rstrip('/').removesuffix(f'/{version}')}/{version}",
            Key(settings.api_key, key, "x-goog-api-key"),
            settings,
            models=MODELS,
            clock=clock,
        )

    def capabilities(self, model: str) -> ModelCaps:
        """Return what a model can take: the settings, the service's word, its family."""
        return self._service.catalog.capabilities(plain(model or self._settings.model))

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
        question = service.question(request, model, self.capabilities(model), "gemini")
        payload = await generate_payload(
            question,
            max_output=request.max_output or settings.max_output,
            show_thinking=settings.thinking,
        )
        path = f"{resource(model)}:streamGenerateContent?alt=sse"
        fold = GenerateFold(service.api, question.names, self._new_id)
        return Exchange(question, path, payload, fold)
