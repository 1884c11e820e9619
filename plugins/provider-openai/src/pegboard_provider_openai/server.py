"""What both providers share: one address with its key, and the models that it offers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pegboard_provider_http import Echoes, HttpApi, Timeouts

from pegboard import ChatRequest, Clock, ModelCaps, ModelInfo, ProviderInfo
from pegboard.providers import family_caps, limited
from pegboard_provider_openai.json_shapes import count, mapping, mappings, text
from pegboard_provider_openai.presets import Preset

if TYPE_CHECKING:
    from pegboard_provider_openai.config import CompatibleSettings, OpenAISettings

_CONTEXT: Final = ("context_length", "context_window", "max_context_length", "max_model_len")
"""Where servers tell a model's context window: OpenRouter, Groq, Mistral, vLLM."""
_MAX_OUTPUT: Final = ("max_completion_tokens", "max_output_tokens")


class Server:
    """One address of a provider.

    Args:
        info: Facts about the provider.
        where: Its address, and the name of its key.
        settings: What the operator decided.
        key: The key, or "".
        clock: Time.

    Attributes:
        api: Makes the requests.
    """

    def __init__(
        self,
        info: ProviderInfo,
        where: Preset | OpenAISettings,
        settings: CompatibleSettings | OpenAISettings,
        key: str,
        clock: Clock,
    ) -> None:
        self._info = info
        self._settings = settings
        self._told: dict[str, ModelCaps] = {}
        self._numbers = itertools.count(1)
        headers = dict(settings.headers)
        if key:
            headers["authorization"] = f"Bearer {key.strip()}"
        self.api = HttpApi(
            info.title,
            where.base_url,
            headers=headers,
            secrets=[key.strip()],
            key=where.api_key,
            timeouts=Timeouts(connect_s=settings.connect_s, idle_s=settings.idle_s),
            clock=clock,
        )

    def capabilities(self, model: str) -> ModelCaps:
        """Return what a model can take: the settings, else what the server told, else its family's.

        What the server told is known once it was asked for its models.
        """
        settings = self._settings
        caps = self._told.get(model) or family_caps(model)
        return limited(caps, context=settings.context, max_output=settings.max_output)

    async def models(self) -> list[ModelInfo]:
        """Return the models on offer, each once.

        Raises:
            ProviderError: When the server does not say.
        """
        listed = mapping(await self.api.ask("GET", "models")).get("data")
        if not isinstance(listed, list):
            raise self.api.nonsense("its list of models is none")
        found: dict[str, ModelInfo] = {}
        for item in mappings(listed):
            id = text(item.get("id"))
            if id and id not in found:
                said = _said(item)
                self._told[id] = _caps(id, said)
                found[id] = ModelInfo(id=id, title=text(item.get("name")), told=frozenset(said))
        return [replace(model, caps=self.capabilities(id)) for id, model in found.items()]

    def echoes(self, request: ChatRequest, model: str) -> Echoes:
        """Return what was said before in the run, if it was said here and by this model."""
        return Echoes(
            request.state,
            provider=self._info.id,
            dialect=self._info.dialect,
            model=model,
            route=self.api.route,
        )

    def call_ids(self, request: ChatRequest) -> Callable[[], str]:
        """Return what makes ids for calls that came without, none of them in the conversation."""
        taken = {call.id for message in request.messages for call in message.calls}

        def new() -> str:
            return next(id for n in self._numbers if (id := f"call_{n}") not in taken)

        return new


def _said(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a server tells of a model."""
    meta, best = mapping(told.get("meta")), mapping(told.get("top_provider"))
    said: dict[str, Any] = {
        "context": _first(told, *_CONTEXT) or count(meta.get("n_ctx")),
        "max_output": _first(best, *_MAX_OUTPUT) or _first(told, *_MAX_OUTPUT),
        "images": _sees(told),
    }
    return {field: value for field, value in said.items() if value}


def _caps(model: str, said: Mapping[str, Any]) -> ModelCaps:
    """Return what a model can take, corrected by what a server tells of it."""
    caps = replace(family_caps(model), **said)
    return replace(caps, max_output=min(caps.max_output, caps.context))


def _sees(told: Mapping[str, Any]) -> bool:
    taken = mapping(told.get("architecture")).get("input_modalities")
    if isinstance(taken, list):
        return "image" in taken
    return mapping(told.get("capabilities")).get("vision") is True


def _first(told: Mapping[str, Any], *fields: str) -> int:
    return next((found for field in fields if (found := count(told.get(field)))), 0)
