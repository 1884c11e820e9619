"""How Anthropic lists its models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from pegboard_provider_http.catalog import ListedModel, ModelList
from pegboard_provider_http.json_shapes import count, mapping, string


def _read(item: Mapping[str, Any]) -> ListedModel | None:
    if item.get("lifecycle") == "retired":
        return None
    images = mapping(mapping(item.get("capabilities")).get("image_input")).get("supported")
    return ListedModel(
        id=string(item.get("id")),
        title=string(item.get("display_name")),
        context=count(item.get("max_input_tokens")),
        max_output=count(item.get("max_tokens")),
        images=images if isinstance(images, bool) else None,
    )


def _next(answer: Mapping[str, Any]) -> str:
    last = string(answer.get("last_id"))
    return f"&after_id={quote(last, safe='')}" if answer.get("has_more") and last else ""


MODELS: Final = ModelList(path="v1/models?limit=100", field="data", read=_read, next=_next)
