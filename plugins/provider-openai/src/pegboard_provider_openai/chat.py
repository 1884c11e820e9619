"""The provider for every server that speaks Chat Completions."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio
from pegboard_provider_http.exchange import Exchange
from pegboard_provider_http.service import Key, Service, network_of

from pegboard import (
    ChatRequest,
    Clock,
    ModelCaps,
    ModelInfo,
    ProviderError,
    ProviderEvent,
    ProviderInfo,
)
from pegboard.providers import family_caps, limited
from pegboard_provider_openai.chat_request import chat_payload
from pegboard_provider_openai.chat_stream import ChatFold
from pegboard_provider_openai.forced_call import ForcedFold, held
from pegboard_provider_openai.models import MODELS
from pegboard_provider_openai.presets import preset_of

if TYPE_CHECKING:
    from pegboard_provider_openai.config import CompatibleSettings


LEARN_S: Final = 3.0
"""Seconds that a server has to tell its windows, before it is asked without."""


class ChatProvider:
    """A server that speaks Chat Completions.

    Args:
        settings: What the operator decided.
        key: The key, or "".
        clock: Time.
        info: What another plugin that speaks through this one calls itself, or None.
    """

    def __init__(
        self,
        settings: CompatibleSettings,
        key: str,
        clock: Clock,
        *,
        info: ProviderInfo | None = None,
    ) -> None:
        self._settings = settings
        self._preset = preset_of(settings)
        self._model = settings.model
        self._numbers = itertools.count(1)
        self._unheard = False
        self.info = info or ProviderInfo(
            id="openai-compatible",
            dialect="openai-chat",
            network=network_of(self._preset.base_url),
            title=self._preset.title,
        )
        self._service = Service(
            self.info,
            self._preset.base_url,
            Key(self._preset.api_key, key),
            settings,
            models=MODELS,
            clock=clock,
        )

    def capabilities(self, model: str) -> ModelCaps:
        """Return what a model can take: the settings first."""
        settings, name = self._settings, model or self._model
        caps = self._sole(name) or self._service.catalog.capabilities(name)
        tools = caps.tools if settings.tools is None else settings.tools
        images = caps.images and self._preset.images
        return replace(
            caps,
            tools=tools,
            forced=self._preset.forces,
            parallel=caps.parallel and tools,
            images=images if settings.images is None else settings.images,
        )

    def stream(self, request: ChatRequest) -> AsyncGenerator[ProviderEvent, None]:
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
        found = await self._service.catalog.models()
        return [replace(model, caps=self.capabilities(model.id)) for model in found]

    async def learn(self) -> None:
        """Ask a server that tells it how large the window is.

        Without this a turn would go by what the model's family has, until the server refuses. One
        that can't be reached, since it is not started yet, is asked again before the next request.
        """
        if not self._preset.tells_window or self._settings.context is not None:
            return
        self._unheard = False
        with anyio.move_on_after(LEARN_S):
            try:
                await self._service.catalog.models()
            except ProviderError as error:
                self._unheard = error.kind == "network"

    async def aclose(self) -> None:
        """Give back connections."""
        await self._service.aclose()

    async def _exchange(self, request: ChatRequest) -> Exchange:
        if self._unheard:
            await self.learn()
        model = request.model or self._model or await self._first()
        caps = self.capabilities(model)
        forced = caps.forced and not caps.tools and request.tool_choice == "required"
        asked = replace(caps, tools=caps.tools or forced)
        question = self._service.question(request, model, asked, "openai")
        forced = forced and bool(question.tools)
        payload = await chat_payload(question, self._preset, () if forced else question.tools)
        fold = (ForcedFold if forced else ChatFold)(
            self._service.api,
            question.names,
            self._call_ids(request),
            model=model,
            echo=self._preset.echo_reasoning,
        )
        payload = held(payload, question.tools) if forced else payload
        return Exchange(question, "chat/completions", payload, fold)

    async def _first(self) -> str:
        """Return the first model that the server offers, where nobody named one."""
        found = await self._service.catalog.models()
        if not found:
            raise ProviderError(
                f"{self.info.title} offers no model.",
                kind="not_found",
                fix='model = "NAME" below [agent], or in the provider\'s own section',
            )
        self._model = found[0].id
        return self._model

    def _sole(self, model: str) -> ModelCaps | None:
        """Return what a model can take on a server of one model, which answers to every name."""
        told, settings = self._service.catalog.told, self._settings
        if not self._preset.tells_window or len(told) != 1 or model in told:
            return None
        (sole,) = told.values()
        caps = family_caps(model)
        caps = replace(caps, context=sole.context, max_output=min(caps.max_output, sole.max_output))
        return limited(caps, context=settings.context, max_output=settings.max_output)

    def _call_ids(self, request: ChatRequest) -> Callable[[], str]:
        """Return what makes ids for calls that came without, none of them in the conversation."""
        taken = {call.id for message in request.messages for call in message.calls}
        return lambda: next(id for n in self._numbers if (id := f"call_{n}") not in taken)
