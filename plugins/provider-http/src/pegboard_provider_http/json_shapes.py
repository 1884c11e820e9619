"""Values out of JSON that a service sent: of the wanted form, or empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_NOTHING: Final[Mapping[str, Any]] = {}


def string(value: Any) -> str:
    """Return a string, else ""."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int:
    """Return a number of things, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object, else an empty one."""
    return value if isinstance(value, dict) else _NOTHING


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list, else none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
