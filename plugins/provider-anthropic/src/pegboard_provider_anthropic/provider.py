"""The provider: one request, one stream. Retrying, waiting and failover are the host's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from pegboard_provider_http import Echoes, HttpApi, Timeouts, finish, is_local

from pegboard import (
    ChatRequest,
    Clock,
    ModelCaps,
    ModelInfo,
    Notice,
    ProviderEvent,
    ProviderInfo,
)
from pegboard.providers import family_caps, limited, project_tools
from pegboard_provider_anthropic.request import messages_payload
from pegboard_provider_anthropic.stream import MessagesFold

if TYPE_CHECKING:
    from pegboard_provider_anthropic.config import AnthropicSettings

DIALECT: Final = "anthropic-messages"
_PAGES: Final = 20
"""Pages of models that are read at most."""


class AnthropicProvider:
    """Anthropic's Messages.

    Args:
        settings: What the operator decided.
        key: The key, or "".
        clock: Time.
    """

    def __init__(self, settings: AnthropicSettings, key: str, clock: Clock) -> None:
        self._settings = settings
        self._told: dict[str, ModelCaps] = {}
        self.info = ProviderInfo(
            id="anthropic",
            dialect=DIALECT,
            network="loopback" if is_local(settings.base_url) else "internet",
            title="Anthropic",
        )
        headers = {**settings.headers, "anthropic-version": settings.version}
        if key:
            bearer = settings.key_header == "authorization"
            headers[settings.key_header] = f"Bearer {key.strip()}" if bearer else key.strip()
        self._api = HttpApi(
            "Anthropic",
            # what other clients want to be told has it at the end
            settings.base_url.rstrip("/").removesuffix("/v1"),
            headers=headers,
            secrets=[key.strip()],
            key=settings.api_key,
            timeouts=Timeouts(connect_s=settings.connect_s, idle_s=settings.idle_s),
            clock=clock,
        )

    def capabilities(self, model: str) -> ModelCaps:
        """Return what a model can take: the settings, the service's word, its family."""
        settings = self._settings
        name = model or settings.model
        caps = self._told.get(name) or family_caps(name)
        return limited(caps, context=settings.context, max_output=settings.max_output)

    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        """Ask the model.

        Raises:
            ProviderError: When the request fails, at once or midway.
        """
        model = request.model or self._settings.model
        caps = self.capabilities(model)
        echoes = Echoes(
            request.state,
            provider=self.info.id,
            dialect=DIALECT,
            model=model,
            route=self._api.route,
        )
        made = project_tools(request.tools if caps.tools else (), "anthropic")
        payload = await messages_payload(
            request,
            model=model,
            max_output=min(request.max_output or caps.max_output, caps.max_output),
            tools=made.tools,
            names=made.names,
            echoes=echoes,
            images=caps.images,
            cache=self._settings.cache,
            thinking=self._settings.thinking,
        )
        for name, why in made.dropped:
            yield Notice("tool_dropped", f"The tool {name} can't be declared: {why}.")
        fold = MessagesFold(self._api, made.names)
        async with aclosing(self._api.events("v1/messages", payload)) as events:
            async for event in events:
                for passed in fold.add(event.data):
                    yield passed
                if fold.ended:
                    await finish(events)
        done = fold.done()
        before = echoes.paused if isinstance(echoes.paused, list) else []
        state = echoes.state(done.calls, [*before, *fold.content()], paused=done.stop == "pause")
        yield replace(done, state=state)

    async def models(self) -> list[ModelInfo]:
        """Return the models on offer, with the limits that the service states.

        Raises:
            ProviderError: When the service does not say.
        """
        found: dict[str, ModelInfo] = {}
        after = ""
        for _ in range(_PAGES):
            page = f"&after_id={quote(after, safe='')}" if after else ""
            answer = await self._api.ask("GET", f"v1/models?limit=100{page}")
            listed = answer.get("data") if isinstance(answer, Mapping) else None
            if not isinstance(listed, list):
                raise self._api.nonsense("its list of models is none")
            for item in listed:
                model = self._model(item)
                if model is not None:
                    found[model.id] = model
            before, after = after, str(answer.get("last_id") or "")
            if not answer.get("has_more") or after in ("", before):
                break
        return list(found.values())

    async def aclose(self) -> None:
        """Give back connections."""
        await self._api.aclose()

    def _model(self, item: Any) -> ModelInfo | None:
        """Return one model of a list, or None when it can't be asked."""
        name = item.get("id") if isinstance(item, Mapping) else None
        if not isinstance(name, str) or not name or item.get("lifecycle") == "retired":
            return None
        told: dict[str, Any] = {}
        context, longest = item.get("max_input_tokens"), item.get("max_tokens")
        if isinstance(context, int) and context > 0:
            told["context"] = context
        if isinstance(longest, int) and longest > 0:
            told["max_output"] = longest
        images = _supported(item.get("capabilities"), "image_input")
        if images is not None:
            told["images"] = images
        self._told[name] = replace(family_caps(name), **told)
        title = str(item.get("display_name") or "")
        caps = self.capabilities(name)
        return ModelInfo(id=name, title=title, caps=caps, told=frozenset(told))


def _supported(capabilities: Any, name: str) -> bool | None:
    """Return what a service says about a capability, or None when it says nothing."""
    said = capabilities.get(name) if isinstance(capabilities, Mapping) else None
    supported = said.get("supported") if isinstance(said, Mapping) else None
    return supported if isinstance(supported, bool) else None
