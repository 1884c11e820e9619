"""What families of models can take, where nobody says it better.

A provider that states limits itself, and the operator's own settings, win over this table. As of
2026-11, from the vendors' model pages; the first pattern that fits counts.
"""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final

from pegboard.contracts.provider import ModelCaps
from pegboard.providers.suited_tools import TASKS

UNKNOWN: Final = ModelCaps(context=32_768, max_output=4_096, images=False)
"""A model that nobody knows: small enough to be true of most."""
_FAMILIES: Final[tuple[tuple[str, ModelCaps], ...]] = (
    ("gpt-5*", ModelCaps(context=400_000, max_output=128_000, images=True)),
    ("gpt-4.1*", ModelCaps(context=1_047_576, max_output=32_768, images=True)),
    ("gpt-4o*", ModelCaps(context=128_000, max_output=16_384, images=True)),
    ("gpt-4-turbo*", ModelCaps(context=128_000, max_output=4_096, images=True)),
    ("gpt-4", ModelCaps(context=8_192, max_output=4_096)),
    ("gpt-4-0[36]*", ModelCaps(context=8_192, max_output=4_096)),
    ("gpt-3.5*", ModelCaps(context=16_385, max_output=4_096)),
    ("gpt-oss*", ModelCaps(context=131_072, max_output=32_768)),
    ("o[134]*", ModelCaps(context=200_000, max_output=100_000, images=True)),
    ("claude-3-[ohs]*", ModelCaps(context=200_000, max_output=4_096, images=True)),
    ("claude-3-5*", ModelCaps(context=200_000, max_output=8_192, images=True)),
    ("claude-opus-4-[01]*", ModelCaps(context=200_000, max_output=32_000, images=True)),
    ("claude-opus-4", ModelCaps(context=200_000, max_output=32_000, images=True)),
    ("claude-*", ModelCaps(context=200_000, max_output=64_000, images=True)),
    ("gemini-*", ModelCaps(context=1_048_576, max_output=65_536, images=True)),
    ("deepseek*", ModelCaps(context=131_072, max_output=8_192)),
    ("mistral-small*", ModelCaps(context=131_072, max_output=8_192, images=True)),
    ("mistral*", ModelCaps(context=131_072, max_output=8_192)),
    ("codestral*", ModelCaps(context=262_144, max_output=8_192)),
    ("llama-3*", ModelCaps(context=131_072, max_output=8_192)),
    ("llama3*", ModelCaps(context=131_072, max_output=8_192)),
    ("llama-4*", ModelCaps(context=131_072, max_output=8_192, images=True)),
    ("qwen3*", ModelCaps(context=131_072, max_output=16_384)),
    ("qwen2.5*", ModelCaps(context=32_768, max_output=8_192)),
    ("smollm2*", ModelCaps(context=8_192, max_output=2_048, tools=False)),
)

_USED_TO: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("gpt-5*", ("apply_patch", "update_plan")),
    ("gpt-4.1*", ("apply_patch", "update_plan")),
    ("gpt-oss*", ("apply_patch", "update_plan")),
    ("o[34]*", ("apply_patch", "update_plan")),
    ("codex*", ("apply_patch", "update_plan")),
    ("claude-*", ("file_edit", *TASKS)),
    ("*", ("file_edit", "update_plan")),
)
"""Family -> tools that it was trained to use, of those that do the same."""


def limited(caps: ModelCaps, *, context: int | None, max_output: int | None) -> ModelCaps:
    """Return what a model can take, as the operator corrected it; no answer outgrows the window.

    Args:
        caps: What the provider, or the family, says.
        context: Context window in tokens; None = as it is.
        max_output: Longest answer in tokens; None = as it is.
    """
    window = context or caps.context
    return replace(caps, context=window, max_output=min(max_output or caps.max_output, window))


def family_caps(model: str) -> ModelCaps:
    """Return what a model can take, by the family that its name says.

    Args:
        model: Id of the model; what stands before the last `/` names who made it.
    """
    return known_family(model) or replace(UNKNOWN, offered=_used_to(_bare(model)))


def known_family(model: str) -> ModelCaps | None:
    """Return what the family of a model can take, or None for a family that nobody knows."""
    name = _bare(model)
    for pattern, caps in _FAMILIES:
        if fnmatchcase(name, pattern):
            return replace(caps, offered=_used_to(name))
    return None


def _bare(model: str) -> str:
    return model.lower().rpartition("/")[2]


def _used_to(name: str) -> tuple[str, ...]:
    return next(tools for pattern, tools in _USED_TO if fnmatchcase(name, pattern))
