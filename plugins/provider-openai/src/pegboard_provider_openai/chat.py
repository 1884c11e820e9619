"""The provider for every server that speaks Chat Completions."""

from __future__ import annotations

from collections.abc import AsyncGenerator
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
    ProviderError,
    ProviderEvent,
    ProviderInfo,
    Start,
)
from pegboard.providers import project_tools
from pegboard_provider_openai.chat_request import chat_payload
from pegboard_provider_openai.chat_stream import ChatFold, status_in
from pegboard_provider_openai.forced_call import ForcedFold, held
from pegboard_provider_openai.presets import preset_of
from pegboard_provider_openai.server import Server

if TYPE_CHECKING:
    from pegboard_provider_openai.config import CompatibleSettings


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
        self.info = info or ProviderInfo(
            id="openai-compatible",
            dialect="openai-chat",
            network="loopback" if is_local(self._preset.base_url) else "internet",
            title=self._preset.title,
        )
        self._server = Server(self.info, self._preset, settings, key, clock)
        self._api = self._server.api

    def capabilities(self, model: str) -> ModelCaps:
        """Return what a model can take: the settings first."""
        settings = self._settings
        caps = self._server.capabilities(model or self._model)
        tools = caps.tools if settings.tools is None else settings.tools
        images = caps.images and self._preset.images
        return replace(
            caps,
            tools=tools,
            forced=self._preset.forces,
            parallel=caps.parallel and tools,
            images=images if settings.images is None else settings.images,
        )

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ProviderEvent, None]:
        """Ask the model.

        Raises:
            ProviderError: When the request fails, at once or midway.
        """
        model = request.model or self._model or await self._first()
        caps = self.capabilities(model)
        echoes = self._server.echoes(request, model)
        forced = caps.forced and not caps.tools and request.tool_choice == "required"
        made = project_tools(request.tools if caps.tools or forced else (), "openai")
        forced = forced and bool(made.tools)
        payload = await chat_payload(
            request,
            model=model,
            preset=self._preset,
            tools=() if forced else made.tools,
            names=made.names,
            echoes=echoes,
            images=caps.images,
        )
        fold = (ForcedFold if forced else ChatFold)(
            self.info.title,
            made.names,
            self._server.call_ids(request),
            echo=self._preset.echo_reasoning,
        )
        payload = held(payload, made.tools) if forced else payload
        for name, why in made.dropped:
            yield Notice("tool_dropped", f"The tool {name} can't be declared: {why}.")
        started = False
        async with aclosing(self._api.events("chat/completions", payload)) as events:
            async for event in events:
                passed = fold.add(event.data)
                if fold.error is not None:
                    raise self._api.failed(fold.error, status=status_in(fold.error))
                if passed and not started:
                    started = True
                    yield Start(fold.model or model, fold.request)
                for item in passed:
                    yield item
        done = fold.done()
        if not started:
            yield Start(fold.model or model, fold.request)
        yield replace(done, state=echoes.state(done.calls, fold.echoed()))

    async def models(self) -> list[ModelInfo]:
        """Return the models on offer.

        Raises:
            ProviderError: When the server does not say.
        """
        found = await self._server.models()
        return [replace(model, caps=self.capabilities(model.id)) for model in found]

    async def aclose(self) -> None:
        """Give back connections."""
        await self._api.aclose()

    async def _first(self) -> str:
        """Return the first model that the server offers, where nobody named one."""
        found = await self._server.models()
        if not found:
            raise ProviderError(
                f"{self.info.title} offers no model.",
                kind="not_found",
                fix='model = "NAME" below [agent], or in the provider\'s own section',
            )
        self._model = found[0].id
        return self._model
