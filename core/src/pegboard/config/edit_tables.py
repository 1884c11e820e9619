"""Add a table to a list of tables in a settings file, and keep its comments and its layout."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pegboard.config.edit import edited
from pegboard.contracts.errors import ConfigError

_COMMENT: Final = re.compile(r"\s*#")


def with_table(
    text: str,
    dotted: str,
    item: Mapping[str, Any],
    *,
    replaces: str = "",
    at: int | None = None,
) -> str:
    """Return the text of a settings file with one more table in a list of tables.

    Args:
        text: The text; it stays as it is when exactly this table is in the list.
        dotted: Key of the list.
        item: The table.
        replaces: Tables that have the same value under this name give way; "" = none do.
        at: The place that it gets; None = the last.

    Raises:
        ConfigError: When the key holds no list of tables, or lies below a value; or when TOML can't
            hold the table.
        UsageError: When `dotted` is no key.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    def put(table: Any, key: str) -> bool:
        if table.get(key) is None:
            table[key] = tomlkit.aot()
        listed = table[key]
        if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
            raise ConfigError(f"{dotted} must be a list of tables", fix=f"mend {dotted}")
        if any(one.unwrap() == item for one in listed):
            return False
        old = _replaced(listed, item, replaces)
        for place in reversed(old):
            del listed[place]
        place = old[0] if old else len(listed) if at is None else at
        listed.insert(place, _table(item, inline=not isinstance(listed, tomlkit.items.AoT)))
        return True

    try:
        after = edited(text, dotted, put, create=True, where="config.toml")
        if after is None:
            return text
        after.encode()  # half a character can't be written
        return _laid_out(text, after, dotted, item, at)
    except (TOMLKitError, ValueError, TypeError) as error:
        raise ConfigError(f"{dotted} can't hold this in TOML: {error}") from error


def without_tables(text: str, dotted: str, wanted: Callable[[Mapping[str, Any]], bool]) -> str:
    """Return the text of a settings file without some tables of a list of tables.

    Args:
        text: The text; it stays as it is when no table is taken out.
        dotted: Key of the list; it goes with its last table.
        wanted: Tells which tables go.

    Raises:
        UsageError: When `dotted` is no key.
    """

    def take(table: Any, key: str) -> bool:
        listed = table.get(key)
        if not isinstance(listed, list):
            return False
        places = [place for place, one in enumerate(listed) if wanted(one)]
        for place in reversed(places):
            del listed[place]
        if not listed:
            del table[key]
        return bool(places)

    after = edited(text, dotted, take, create=False, where="config.toml")
    return text if after is None else after


def in_one_line(value: Any) -> str:
    """Return a value as TOML writes it in one line.

    Raises:
        ConfigError: When TOML can't hold it.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        if isinstance(value, Mapping):
            return str(_table(value, inline=True).as_string())
        return str(tomlkit.item(value).as_string())
    except (TOMLKitError, ValueError, TypeError) as error:
        raise ConfigError(f"a setting can't hold this: {error}") from error


def _replaced(listed: Sequence[Any], item: Mapping[str, Any], name: str) -> list[int]:
    if not name:
        return []
    return [place for place, one in enumerate(listed) if one.get(name) == item[name]]


def _table(item: Mapping[str, Any], *, inline: bool) -> Any:
    import tomlkit

    made = tomlkit.inline_table() if inline else tomlkit.table()
    for key, value in item.items():
        made[key] = _table(value, inline=True) if isinstance(value, Mapping) else value
    return made


def _laid_out(before: str, after: str, dotted: str, item: Mapping[str, Any], at: int | None) -> str:
    """Return a text that says the same as `after`, and in which each comment stays where it was.

    In a parsed file the comments above a table belong to the table before it, so one that is put in
    between would come below them.
    """
    import tomllib

    import tomlkit

    lines = before.splitlines(keepends=True)
    heads = [number for number, line in enumerate(lines) if line.strip() == f"[[{dotted}]]"]
    if at is None or at >= len(heads):
        return after
    line = heads[at]
    while line and _COMMENT.match(lines[line - 1]):
        line -= 1
    block = f"[[{dotted}]]\n{tomlkit.dumps(_table(item, inline=False))}\n"
    text = "".join([*lines[:line], block, *lines[line:]])
    return text if tomllib.loads(text) == tomllib.loads(after) else after
