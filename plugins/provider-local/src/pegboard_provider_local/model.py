"""Which file a name means, and what its model can be expected to do. Reads the file's head only."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pegboard import ModelCaps
from pegboard.providers import GgufFacts, ModelFileError, ModelFiles, family_caps, read_gguf

if TYPE_CHECKING:
    from pegboard_provider_local.config import LocalSettings

TOY: Final = 1_000_000_000
"""Weights below which a model picks tools no better than by chance."""
_CONTEXT: Final = 8_192


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """A model on this machine.

    Args:
        name: What it is asked for by.
        path: Its file.
        facts: What the file says.
        caps: What it can take.
    """

    name: str
    path: Path
    facts: GgufFacts
    caps: ModelCaps

    @property
    def title(self) -> str:
        """Its name and size for people."""
        return f"{self.facts.name or self.name} ({_counted(self.facts.parameters)} weights)"

    @property
    def banner(self) -> str:
        """What a person should know before they read its answers; "" = nothing."""
        if self.facts.parameters >= TOY:
            return ""
        tools = (
            "it is offered tools because the settings say so, and will often choose wrong ones"
            if self.caps.tools
            else "it calls no tools"
        )
        return (
            f"{self.title} is a very small model: it writes fluent sentences, facts and sums in "
            f"them are often wrong, and {tools}."
        )


def model_at(name: str, files: ModelFiles, settings: LocalSettings) -> LocalModel:
    """Return the model that a name means: one that was added, else the path of a file.

    Raises:
        ModelFileError: When there is none, or its file is not whole.
    """
    added = files.find(name)
    if added is not None:
        path = files.checked(added)
    elif os.sep in name or name.endswith(".gguf"):
        path = Path(name).expanduser().absolute()
    else:
        known = ", ".join(model.name for model in files.all()) or "none"
        raise ModelFileError(
            f"No model {name} was added (added: {known}).", fix=f"pegboard models add {name}"
        )
    facts = read_gguf(path)
    caps = replace(caps_of(facts, settings), offered=family_caps(name).offered)
    return LocalModel(name=name, path=path, facts=facts, caps=caps)


def caps_of(facts: GgufFacts, settings: LocalSettings) -> ModelCaps:
    """Return what a model can take: the settings first, then what its file says."""
    context = settings.context or min(facts.context or _CONTEXT, _CONTEXT)
    tools = facts.parameters >= TOY if settings.tools is None else settings.tools
    longest = min(settings.max_output or context // 4, context)
    return ModelCaps(context=context, max_output=longest, tools=tools, forced=True, parallel=False)


def _counted(number: int) -> str:
    if number >= 1_000_000_000:
        return f"{number / 1e9:.1f} thousand million"
    return f"{number / 1e6:.0f} million"
