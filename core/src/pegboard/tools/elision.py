"""Text from outside that says itself that it is not whole. Pure."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = r"(\d[\d,]{0,11})"
_MORE: Final = re.compile(
    rf"(?:…|\.\.\.|\[|\()\s{{0,3}}(?:and )?\+?{_NUMBER} more\b"
    rf"|\b{_NUMBER} (?:more )?[a-z]{{2,20}} (?:were |was )?(?:omitted|elided|truncated|not shown)\b"
    rf"|[\[<(…]\s?(?:output |content |response |result )?truncated\s?[\]>)…]",
    re.IGNORECASE,
)


def elision_note(text: str) -> str:
    """Return what the host tells of a text that was shortened before it came here; "" = nothing.

    None of the text itself is repeated but a number: what is told stands outside of its fence.

    Args:
        text: What a tool returned.
    """
    found = _MORE.search(text)
    if found is None:
        return ""
    number = found[1] or found[2]
    how_many = f" ({number} more are left out)" if number else ""
    return (
        f"[From the host: this output says that it was shortened before it came here{how_many}. "
        "It is not the whole.]"
    )
