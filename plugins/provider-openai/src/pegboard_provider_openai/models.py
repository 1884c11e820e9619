"""How servers list their models: OpenAI's form, and what others add to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pegboard_provider_http.catalog import ListedModel, ModelList
from pegboard_provider_http.json_shapes import count, mapping, string

_CONTEXT: Final = ("context_length", "context_window", "max_context_length", "max_model_len")
"""Where servers tell a model's context window: OpenRouter, Groq, Mistral, vLLM."""
_MAX_OUTPUT: Final = ("max_completion_tokens", "max_output_tokens")


def _read(item: Mapping[str, Any]) -> ListedModel:
    meta, best = mapping(item.get("meta")), mapping(item.get("top_provider"))
    return ListedModel(
        id=string(item.get("id")),
        title=string(item.get("name")),
        context=_first(item, *_CONTEXT) or count(meta.get("n_ctx")),
        max_output=_first(best, *_MAX_OUTPUT) or _first(item, *_MAX_OUTPUT),
        images=True if _sees(item) else None,
    )


def _sees(item: Mapping[str, Any]) -> bool:
    taken = mapping(item.get("architecture")).get("input_modalities")
    if isinstance(taken, list):
        return "image" in taken
    return mapping(item.get("capabilities")).get("vision") is True


def _first(told: Mapping[str, Any], *fields: str) -> int:
    return next((found for field in fields if (found := count(told.get(field)))), 0)


MODELS: Final = ModelList(path="models", field="data", read=_read)
