"""The models of a service: how it lists them, and what it said of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pegboard import ModelCaps, ModelInfo
from pegboard.providers import family_caps, limited
from pegboard_provider_http.api import HttpApi
from pegboard_provider_http.json_shapes import mapping, mappings

if TYPE_CHECKING:
    from pegboard_provider_http.settings import ServiceSettings

_PAGES: Final = 20
"""Pages of models that are read at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """What a service says of one model.

    Args:
        id: Its id.
        title: Name to show a person, or "".
        context: Context window in tokens; 0 = it does not say.
        max_output: Longest answer in tokens; 0 = it does not say.
        images: Whether it takes images; None = it does not say.
    """

    id: str
    title: str = ""
    context: int = 0
    max_output: int = 0
    images: bool | None = None

    @property
    def told(self) -> dict[str, Any]:
        """The limits that it says, by their names."""
        said = {"context": self.context or None, "max_output": self.max_output or None}
        both = {**said, "images": self.images}
        return {name: value for name, value in both.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelList:
    """How a service lists its models.

    Args:
        path: Where.
        field: Where the list stands in an answer.
        read: Returns one model of it, or None when that can't be asked.
        next: Returns what the path of the next page has at its end, "" = there is none.
    """

    path: str
    field: str
    read: Callable[[Mapping[str, Any]], ListedModel | None]
    next: Callable[[Mapping[str, Any]], str] = lambda answer: ""


class Catalog:
    """The models of a service, and what each can take.

    Args:
        api: Makes the requests.
        models: How the service lists them.
        settings: What the operator decided, which counts most.

    Attributes:
        told: What a model can take by the service's own word, once that was asked.
    """

    def __init__(self, api: HttpApi, models: ModelList, settings: ServiceSettings) -> None:
        self.told: dict[str, ModelCaps] = {}
        self._api = api
        self._list = models
        self._settings = settings

    def capabilities(self, model: str) -> ModelCaps:
        """Return what a model can take: the settings, the service's word, its family."""
        settings = self._settings
        caps = self.told.get(model) or family_caps(model)
        return limited(caps, context=settings.context, max_output=settings.max_output)

    async def models(self) -> list[ModelInfo]:
        """Return the models on offer, each once, with the limits that the service says.

        Raises:
            ProviderError: When the service does not say.
        """
        found: dict[str, ModelInfo] = {}
        page = ""
        for _ in range(_PAGES):
            answer = mapping(await self._api.ask("GET", self._list.path + page))
            listed = answer.get(self._list.field)
            if not isinstance(listed, list):
                raise self._api.nonsense("its list of models is none")
            for item in mappings(listed):
                model = self._list.read(item)
                if model is not None and model.id and model.id not in found:
                    found[model.id] = self._learned(model)
            before, page = page, self._list.next(answer)
            if page in ("", before):
                break
        return list(found.values())

    def _learned(self, model: ListedModel) -> ModelInfo:
        told = model.told
        self.told[model.id] = replace(family_caps(model.id), **told)
        caps = self.capabilities(model.id)
        return ModelInfo(id=model.id, title=model.title, caps=caps, told=frozenset(told))
