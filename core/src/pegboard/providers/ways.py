"""The ways to a model, for who has none: the easiest first. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pegboard.providers.choice import OFFLINE, Standing, how_to_set

_HOME: Final = '{type = "openai-compatible", server = "ollama"}'
_SERVER: Final = f"pegboard config set providers.home '{_HOME}'"
_WEIGHTS: Final = "pegboard models add smollm2 && pegboard models default local/smollm2"


def ways(found: Iterable[Standing], lacks: Callable[[str], str | None]) -> str:
    """Return the commands that lead to a model, one a line after what it is for.

    Args:
        found: The providers that there are.
        lacks: Returns the command that brings a type of provider, or None when it is there.
    """
    rows = [
        ("a server of yours, such as Ollama", _after(lacks("openai-compatible"), _SERVER)),
        ("a small model on this machine", _after(lacks("local"), _WEIGHTS)),
        *_keys(found, lacks),
    ]
    offline = lacks(OFFLINE)
    if offline is not None:
        rows.append(("no model: the tools that you name", offline))
    width = max(len(what) for what, _ in rows)
    return "\n".join(["one of these", *(f"    {what:<{width}}  {how}" for what, how in rows)])


def _keys(
    found: Iterable[Standing], lacks: Callable[[str], str | None]
) -> Sequence[tuple[str, str]]:
    """Return what gives each provider that lacks only its key that key."""
    rows = [
        (f"{item.name}, with a key", " && ".join(map(how_to_set, item.missing)))
        for item in found
        if item.missing
    ]
    if rows:
        return rows
    return [("openai, with a key", _after(lacks("openai"), how_to_set("openai_api_key")))]


def _after(first: str | None, then: str) -> str:
    if first is None:
        return then
    is_command = first.startswith(("pip ", "pegboard "))
    return f"{first} && {then}" if is_command else f"{first}, then {then}"
