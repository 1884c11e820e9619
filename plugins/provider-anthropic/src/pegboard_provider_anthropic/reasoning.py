"""How a model is asked to reason: families of models take it in different ways. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

Style = Literal["adaptive", "budget", "none"]
_BUDGETS: Final[Mapping[str | None, int]] = {"low": 2_048, "medium": 8_192, "high": 24_576}
_LEAST: Final = 1_024
"""Tokens of reasoning that the service takes at least."""
_STYLES: Final[tuple[tuple[str, Style], ...]] = (
    ("claude-2*", "none"),
    ("claude-3-7*", "budget"),
    ("claude-3*", "none"),
    ("claude-opus-4", "budget"),
    ("claude-sonnet-4", "budget"),
    ("claude-*-4-[0-5]", "budget"),
    ("claude-*-4-[0-5]-*", "budget"),
    ("claude-*-4-2*", "budget"),
)
"""Models that do not decide for themselves how long to reason; the first that fits counts."""


def style(model: str) -> Style:
    """Return how a model takes the wish to reason; a model that nobody knows is a new one.

    Args:
        model: Its id; gateways put words before it, and dots in it.
    """
    name = model.lower().replace(".", "-")
    name = name[max(0, name.rfind("claude-")) :]
    return next((style for pattern, style in _STYLES if fnmatchcase(name, pattern)), "adaptive")


def reasoning(
    model: str,
    *,
    effort: str | None,
    always: bool,
    max_output: int,
    forced: bool,
    unsigned: bool,
) -> dict[str, Any]:
    """Return the fields of a request that ask for reasoning.

    Args:
        model: The model that is asked.
        effort: How much, or None.
        always: True to ask, and to be shown it, although nobody said how much.
        max_output: Longest answer in tokens; reasoning is part of it.
        forced: True when the answer must be a call: the service takes both only apart.
        unsigned: True when calls that are being answered come without the reasoning before them: a
            model with a budget refuses to go on reasoning from there.
    """
    kind = style(model)
    if kind == "none" or not (effort or always):
        return {}
    if kind == "budget":
        budget = min(_BUDGETS.get(effort, _BUDGETS["medium"]), max_output // 2)
        if forced or unsigned or budget < _LEAST:
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
    made: dict[str, Any] = {}
    if effort:
        made["output_config"] = {"effort": effort}
    if not forced:
        made["thinking"] = {"type": "adaptive"}
        if always:
            made["thinking"]["display"] = "summarized"
    return made
