"""What model calls cost, as rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Final

from pegboard.contracts.errors import StoreError
from pegboard.contracts.spending import Spending
from pegboard.store.encoding import as_was, kept

_COLUMNS: Final = (
    "at, turn, key, channel, sender, agent, plugin, provider, model, input, output, cached, cost"
)
_NARROWS: Final = ("key", "channel", "sender", "turn")


def add(connection: sqlite3.Connection, spending: Spending) -> None:
    """Keep what a model call cost."""
    connection.execute(
        f"INSERT INTO spending({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            spending.at,
            *(kept(text) for text in (spending.turn, spending.key, spending.channel)),
            *(kept(text) for text in (spending.sender, spending.agent, spending.plugin)),
            *(kept(text) for text in (spending.provider, spending.model)),
            spending.input,
            spending.output,
            spending.cached,
            spending.cost,
        ),
    )


def since(connection: sqlite3.Connection, at: float, of: Mapping[str, str]) -> list[Spending]:
    """Return what was spent since a time, the oldest first.

    Args:
        connection: The store.
        at: Seconds since the epoch.
        of: Narrows by `key`, `channel`, `sender` or `turn`.

    Raises:
        StoreError: When it shall be narrowed by something else.
    """
    unknown = sorted(set(of) - set(_NARROWS))
    if unknown:
        raise StoreError(
            f"Spending can't be narrowed by {', '.join(unknown)}.",
            fix=f"use {', '.join(_NARROWS)}",
        )
    names = [name for name in _NARROWS if name in of]
    where = " AND ".join(("at >= ?", *(f"{name} = ?" for name in names)))
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM spending WHERE {where} ORDER BY at, id",
        (at, *(kept(of[name]) for name in names)),
    )
    return [_spending(row) for row in rows]


def _spending(row: tuple[object, ...]) -> Spending:
    names = _COLUMNS.split(", ")
    values = (as_was(value) if isinstance(value, str) else value for value in row)
    return Spending(**dict(zip(names, values, strict=True)))  # type: ignore[arg-type]
