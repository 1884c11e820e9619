"""How Google lists and names its models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from pegboard_provider_http.catalog import ListedModel, ModelList
from pegboard_provider_http.json_shapes import count, string


def plain(model: str) -> str:
    """Return the name of a model as people write it."""
    return model.removeprefix("models/")


def resource(model: str) -> str:
    """Return the path of a model; tuned ones are named with theirs."""
    return quote(model if "/" in model else f"models/{model}", safe="/")


def _read(item: Mapping[str, Any]) -> ListedModel | None:
    methods = item.get("supportedGenerationMethods")
    if isinstance(methods, list) and "generateContent" not in methods:
        return None
    return ListedModel(
        id=plain(string(item.get("name"))),
        title=string(item.get("displayName")),
        context=count(item.get("inputTokenLimit")),
        max_output=count(item.get("outputTokenLimit")),
    )


def _next(answer: Mapping[str, Any]) -> str:
    token = string(answer.get("nextPageToken"))
    return f"&pageToken={quote(token, safe='')}" if token else ""


MODELS: Final = ModelList(path="models?pageSize=1000", field="models", read=_read, next=_next)
