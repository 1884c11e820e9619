"""The provider: one request, one stream. Retrying, waiting and failover are the host's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from pegboard_provider_http import Echoes, HttpApi, Timeouts, finish, is_local

from pegboard import (
    ChatRequest,
    Clock,
    Done,
    ModelCaps,
    ModelInfo,
    Notice,
    ProviderEvent,
    ProviderInfo,
    ProviderState,
)
from pegboard.providers import family_caps, limited, project_tools
from pegboard_provider_gemini.request import generate_payload
from pegboard_provider_gemini.stream import GenerateFold

if TYPE_CHECKING:
    from pegboard_provider_gemini.config import GeminiSettings

DIALECT: Final = "gemini-generate"
_PAGES: Final = 20
"""Pages of models that are read at most."""


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
        self._told: dict[str, ModelCaps] = {}
        self.info = ProviderInfo(
            id="gemini",
            dialect=DIALECT,
            network="loopback" if is_local(settings.base_url) else "internet",
            title="Gemini",
        )
        headers = dict(settings.headers)
        if key:
            headers["x-goog-api-key"] = key.strip()
        version = settings.api_version
        self._api = HttpApi(
            "Gemini",
            f"{settings.base_url.rstrip('/').removesuffix(f'/{version}')}/{version}",
            headers=headers,
            secrets=[key.strip()],
            key=settings.api_key,
            timeouts=Timeouts(connect_s=settings.connect_s, idle_s=settings.idle_s),
            clock=clock,
        )

    def capabilities(self, model: str) -> ModelCaps:
        """Return what a model can take: the settings, the service's word, its family."""
        settings = self._settings
        name = _plain(model or settings.model)
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
        longest = request.max_output or self._settings.max_output
        made = project_tools(request.tools if caps.tools else (), "gemini")
        payload = await generate_payload(
            request,
            model=model,
            max_output=None if longest is None else min(longest, caps.max_output),
            tools=made.tools,
            names=made.names,
            echoes=echoes,
            images=caps.images,
            show_thinking=self._settings.thinking,
        )
        for name, why in made.dropped:
            yield Notice("tool_dropped", f"The tool {name} can't be declared: {why}.")
        fold = GenerateFold(self._api, made.names, self._new_id)
        path = f"{_resource(model)}:streamGenerateContent?alt=sse"
        async with aclosing(self._api.events(path, payload)) as events:
            async for event in events:
                for passed in fold.add(event.data):
                    yield passed
                if fold.ended:  # counts may come later
                    await finish(events, lambda late: fold.add(late.data))
        done = fold.done()
        yield replace(done, state=_state(echoes, fold, done))

    async def models(self) -> list[ModelInfo]:
        """Return the models on offer, with the limits that the service states.

        Raises:
            ProviderError: When the service does not say.
        """
        found: dict[str, ModelInfo] = {}
        token = ""
        for _ in range(_PAGES):
            page = f"&pageToken={quote(token, safe='')}" if token else ""
            answer = await self._api.ask("GET", f"models?pageSize=1000{page}")
            listed = answer.get("models") if isinstance(answer, Mapping) else None
            if not isinstance(listed, list):
                raise self._api.nonsense("its list of models is none")
            for item in listed:
                model = self._model(item)
                if model is not None:
                    found[model.id] = model
            before, token = token, str(answer.get("nextPageToken") or "")
            if token in ("", before):
                break
        return list(found.values())

    async def aclose(self) -> None:
        """Give back connections."""
        await self._api.aclose()

    def _model(self, item: Any) -> ModelInfo | None:
        """Return one model of a list, or None when it does not answer."""
        name = item.get("name") if isinstance(item, Mapping) else None
        if not isinstance(name, str) or not _plain(name):
            return None
        methods = item.get("supportedGenerationMethods")
        if isinstance(methods, list) and "generateContent" not in methods:
            return None
        name = _plain(name)
        told: dict[str, int] = {}
        context, longest = item.get("inputTokenLimit"), item.get("outputTokenLimit")
        if isinstance(context, int) and context > 0:
            told["context"] = context
        if isinstance(longest, int) and longest > 0:
            told["max_output"] = longest
        self._told[name] = replace(family_caps(name), **told)  # type: ignore[arg-type]
        title = str(item.get("displayName") or "")
        caps = self.capabilities(name)
        return ModelInfo(id=name, title=title, caps=caps, told=frozenset(told))


def _state(echoes: Echoes, fold: GenerateFold, done: Done) -> ProviderState:
    before = echoes.paused.get("parts") if isinstance(echoes.paused, Mapping) else None
    parts = [*(before or ()), *fold.parts()]
    if done.stop == "pause" and not done.calls:
        return echoes.state((), {"token": fold.token, "parts": parts}, paused=True)
    return echoes.state(done.calls, parts)


def _plain(model: str) -> str:
    return model.removeprefix("models/")


def _resource(model: str) -> str:
    """Return the path of a model; tuned ones are named with theirs."""
    return quote(model if "/" in model else f"models/{model}", safe="/")
