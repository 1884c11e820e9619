"""Which SQL is for plugins."""

from __future__ import annotations

import re
from typing import Final

from pegboard.contracts.errors import StoreError

_BEFORE: Final = r"(?:\s|;|--[^\n]*(?:\n|$)|/\*.*?(?:\*/|$))*"
_FIRST_WORD: Final = re.compile(_BEFORE + "([A-Za-z]*)", re.DOTALL)
_REFUSED: Final = frozenset(
    (
        *("BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"),
        *("ATTACH", "DETACH", "PRAGMA", "VACUUM"),
    )
)
"""Statements that are about the file or its transactions: those are the host's business."""


def refuse(sql: str) -> None:
    """Refuse a statement that is about the file and not about what is in it.

    Raises:
        StoreError: With its first word.
    """
    match = _FIRST_WORD.match(sql)
    word = match[1].upper() if match else ""
    if word in _REFUSED:
        raise StoreError(
            f"{word} is not for plugins: the host opens the file and begins and ends its "
            "transactions.",
            fix="use Tables.transaction for several statements that belong together",
        )
