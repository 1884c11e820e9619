"""Values out of JSON that a server sent: of the wanted form, or empty."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_NOTHING: Final[Mapping[str, Any]] = {}


def text(value: Any) -> str:
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


def object_text(arguments: str) -> str:
    """Return the arguments of a call as the text of an object.

    A model writes what is none at times; servers that render a conversation by a template read the
    arguments, and refuse the whole request for one bad call of long ago.
    """
    if not arguments.strip():
        return "{}"
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (ValueError, RecursionError):
        pass
    return json.dumps({"invalid": arguments})
