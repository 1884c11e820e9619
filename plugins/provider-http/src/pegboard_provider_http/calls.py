"""Ids and arguments of earlier calls, as services take them: a model may have written anything."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Final

_ID: Final = re.compile(r"[A-Za-z0-9_-]+")


def call_id(id: str, longest: int) -> str:
    """Return the id of a call as a service takes it; another provider's may be of any form.

    Args:
        id: The id.
        longest: Characters that are taken at most.
    """
    if len(id) <= longest and _ID.fullmatch(id):
        return id
    return f"call_{hashlib.sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def arguments_object(text: str) -> dict[str, Any]:
    """Return the arguments of a call as an object, for a service that insists on one.

    A text that is none was answered with an error already; the model need not read it again.
    """
    try:
        given = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {"value": given}


def arguments_text(arguments: str) -> str:
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
