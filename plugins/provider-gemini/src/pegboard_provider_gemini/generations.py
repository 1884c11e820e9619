"""What differs between generations of models. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_NUMBERED: Final = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_LEVELS: Final[Mapping[str, str]] = {"max": "XHIGH"}
"""Names of efforts that the service calls otherwise than in capitals."""
_BUDGETS: Final[Mapping[str, int]] = {"minimal": 512, "low": 1_024, "medium": 8_192}
_LARGEST: Final = 24_576
"""Tokens of reasoning that every model with a budget takes."""


def generation(model: str) -> tuple[int, int]:
    """Return the generation of a model: (2, 5) for `gemini-2.5-pro`.

    A name without a number is that of the newest; (0, 0) is none of the family.

    Args:
        model: Its id; what stands before the last `/` names whose it is.
    """
    name = model.lower().rpartition("/")[2]
    found = _NUMBERED.match(name)
    if found is not None:
        return int(found[1]), int(found[2] or 0)
    return (99, 0) if name.startswith("gemini-") else (0, 0)


def signs_calls(model: str) -> bool:
    """Return True when calls of the turn must come back with a signature of the reasoning."""
    return generation(model) >= (3, 0)


def sees_results(model: str) -> bool:
    """Return True when images may stand in the result of a call."""
    return generation(model) >= (3, 0)


def thinking(model: str, *, effort: str | None, always: bool) -> dict[str, Any]:
    """Return how a model is asked to reason; {} for one that can't be asked, or as it likes.

    Args:
        model: The model that is asked.
        effort: How much, or None.
        always: True to be shown reasoning although nobody said how much.
    """
    kind = generation(model)
    if kind < (2, 5) or not (effort or always):
        return {}
    made: dict[str, Any] = {"includeThoughts": True}
    if effort and kind >= (3, 0):
        made["thinkingLevel"] = _LEVELS.get(effort, effort.upper())
    elif effort:
        made["thinkingBudget"] = _BUDGETS.get(effort, _LARGEST)
    return made
