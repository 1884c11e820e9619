"""Names that models give an argument, put right by what its tool declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pegboard.contracts.argument import NOTHING, OPPOSITE

_OPPOSITES: Final = {"true": False, "false": True}


def use_own_names(aliases: Mapping[str, str], arguments: dict[str, Any]) -> list[str]:
    """Give arguments their own names, in place, and return what was changed.

    A name stays where the argument itself is there too with another value: the two can't both be
    meant, and which one is nobody knows. One that says the opposite of an argument is turned round,
    and one that means nothing here is left out.

    Args:
        aliases: As `ToolSpec.argument_aliases`.
        arguments: A value of the caller's own: it is changed.
    """
    notes: list[str] = []
    # what is around first: `todos[].text` is a place in `plan` once `todos` has its own name
    for place, meaning in sorted(aliases.items(), key=_depth):
        *outer, alias = place.split(".")
        for where, holder in _holders(arguments, outer):
            if alias in holder and _put_right(holder, alias, meaning):
                notes.append(f"{where}{alias} -> {_told(where, meaning)}")
    return notes


def _depth(entry: tuple[str, str]) -> int:
    return entry[0].count(".")


def _put_right(holder: dict[str, Any], alias: str, meaning: str) -> bool:
    """Replace one name; False where it has to stay."""
    if meaning == NOTHING:
        del holder[alias]
        return True
    own, value = meaning.removeprefix(OPPOSITE), holder[alias]
    if own != meaning and value is not None:
        value = not value if isinstance(value, bool) else _OPPOSITES.get(str(value).lower())
        if value is None:
            return False
    if own in holder and holder[own] != value:
        return False
    del holder[alias]
    holder[own] = value
    return True


def _told(where: str, meaning: str) -> str:
    if meaning == NOTHING:
        return "left out"
    own = meaning.removeprefix(OPPOSITE)
    return f"{where}{own}" if own == meaning else f"not {where}{own}"


def _holders(value: Any, outer: list[str], where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(value, dict):
        return
    if not outer:
        yield where, value
        return
    name, rest = outer[0], outer[1:]
    inner = value.get(name.removesuffix("[]"))
    if not name.endswith("[]"):
        yield from _holders(inner, rest, f"{where}{name}.")
    elif isinstance(inner, list):
        for index, item in enumerate(inner):
            yield from _holders(item, rest, f"{where}{name[:-2]}[{index}].")
