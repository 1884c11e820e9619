"""What the operator says of models: `[models."NAME"]`, over what providers and families say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pegboard.contracts.provider import ModelCaps
from pegboard.providers.families import limited
from pegboard.providers.suited_tools import corrected as corrected_tools

MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens.

    Args:
        input: Of those that the model reads.
        output: Of those that it writes.
        cached: Of those that it reads from a cache; None = as `input`.
    """

    input: float
    output: float
    cached: float | None = None

    def cost(self, input: int, output: int, cached: int) -> float:
        """Return the price of one request; `cached` is a part of `input`."""
        read = self.input if self.cached is None else self.cached
        whole = (input - cached) * self.input + cached * read + output * self.output
        return whole / MILLION


class ModelTable:
    """The operator's table of models.

    An entry `PROVIDER/MODEL` counts, value by value, before one for the model wherever it is asked.

    Args:
        models: The section `[models]`.
    """

    def __init__(self, models: Mapping[str, Any]) -> None:
        self._models = {name: table for name, table in models.items() if isinstance(table, Mapping)}

    def names(self) -> list[str]:
        """Return the names of all entries."""
        return sorted(self._models)

    def find(self, provider: str, model: str, key: str) -> tuple[Any, str]:
        """Return what is said of a model under a key, and the name of the entry.

        None and "" = nothing is said.
        """
        for name in (f"{provider}/{model}", model):
            if key in self._models.get(name, ()):
                return self._models[name][key], name
        return None, ""

    def caps(self, provider: str, model: str, caps: ModelCaps) -> ModelCaps:
        """Return what a model can take, as the operator corrected it."""
        keys = ("context", "max_output", "tools", "images", "offered", "withheld")
        context, longest, tools, images, offered, withheld = (
            self.find(provider, model, key)[0] for key in keys
        )
        corrected = limited(caps, context=context, max_output=longest)
        tools = corrected.tools if tools is None else tools
        return replace(
            corrected,
            tools=tools,
            parallel=corrected.parallel and tools,
            images=corrected.images if images is None else images,
            offered=corrected.offered
            if offered is None
            else corrected_tools(offered, corrected.offered),
            withheld=corrected.withheld if withheld is None else tuple(withheld),
        )

    def price(self, provider: str, model: str) -> tuple[Price | None, str]:
        """Return what the operator says that a model costs, and the name of the entry."""
        said, name = self.find(provider, model, "price")
        return (Price(**said), name) if said else (None, "")
