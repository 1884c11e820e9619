"""Names that models give an argument, put right by what its tool declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def use_own_names(aliases: Mapping[str, str], arguments: dict[str, Any]) -> list[str]:
    """Give arguments their own names, in place, and return what was changed.

    A name stays where the argument itself is there too with another value: the two can't both be
    meant, and which one is nobody knows.

    Args:
        aliases: As `ToolSpec.argument_aliases`.
        arguments: A value of the caller's own: it is changed.
    """
    notes: list[str] = []
    for place, own in aliases.items():
        *outer, alias = place.split(".")
        for where, holder in _holders(arguments, outer):
            if alias not in holder or (own in holder and holder[own] != holder[alias]):
                continue
            holder[own] = holder.pop(alias)
            notes.append(f"{where}{alias} -> {where}{own}")
    return notes


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
