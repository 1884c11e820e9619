"""Change a settings file and keep its comments, order and blank lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pegboard.config.keys import join_key, split_key
from pegboard.config.load import parse_value as parse_value
from pegboard.config.load import read_file
from pegboard.config.private_file import write_private
from pegboard.contracts.errors import ConfigError


def set_value(file: Path, dotted: str, value: Any) -> None:
    """Set one key; the file and the tables above the key are made when missing.

    Raises:
        ConfigError: When the file is not TOML, can't be written, or the key lies below a value.
        UsageError: When `dotted` is no key.
    """

    def put(table: Any, key: str) -> bool:
        table[key] = value
        return True

    _edit(file, dotted, put, create=True)


def unset(file: Path, dotted: str) -> bool:
    """Remove one key or table, and tables that are empty then; False when it was not there.

    Raises:
        ConfigError: When the file is not TOML or can't be written.
        UsageError: When `dotted` is no key.
    """

    def remove(table: Any, key: str) -> bool:
        return table.pop(key, None) is not None

    return _edit(file, dotted, remove, create=False)


def add_item(file: Path, dotted: str, item: str) -> bool:
    """Add an item to a list; False when it was there.

    Raises:
        ConfigError: When the file is not TOML, can't be written, or the key holds no list.
    """

    def add(table: Any, key: str) -> bool:
        items = _items(table, key, file, dotted)
        if item in items:
            return False
        if key in table:
            table[key].append(item)
        else:
            table[key] = [item]
        return True

    return _edit(file, dotted, add, create=True)


def remove_item(file: Path, dotted: str, item: str) -> bool:
    """Remove an item from a list; False when it was not there.

    Raises:
        ConfigError: When the file is not TOML, can't be written, or the key holds no list.
    """

    def remove(table: Any, key: str) -> bool:
        if item not in _items(table, key, file, dotted):
            return False
        table[key].remove(item)
        return True

    return _edit(file, dotted, remove, create=False)


def read_text(file: Path) -> str:
    """Return the text of a settings file, "" when it is not there.

    Raises:
        ConfigError: When it is not TOML or can't be read.
    """
    return file.read_text("utf-8-sig") if read_file(file) is not None else ""


def with_value(text: str, dotted: str, value: Any) -> str:
    """Return the text of a settings file with one key set.

    Raises:
        ConfigError: When the key lies below a value.
        UsageError: When `dotted` is no key.
    """

    def put(table: Any, key: str) -> bool:
        table[key] = value
        return True

    return edited(text, dotted, put, create=True, where="config.toml") or text


def without_value(text: str, dotted: str) -> str:
    """Return the text of a settings file without a key; as it is when it was not set.

    Raises:
        ConfigError: When the key lies below a value.
        UsageError: When `dotted` is no key.
    """

    def drop(table: Any, key: str) -> bool:
        return table.pop(key, None) is not None

    after = edited(text, dotted, drop, create=False, where="config.toml")
    return text if after is None else after


def _edit(file: Path, dotted: str, change: Callable[[Any, str], bool], *, create: bool) -> bool:
    """Apply `change(table, key)`; write only when it says that something changed."""
    text = edited(read_text(file), dotted, change, create=create, where=str(file))
    if text is None:
        return False
    write_private(file, text)
    return True


def edited(
    text: str, dotted: str, change: Callable[[Any, str], bool], *, create: bool, where: str
) -> str | None:
    """Return the text after `change(table, key)`, or None when it says that nothing changed.

    Args:
        text: Text of a settings file.
        dotted: The key.
        change: Changes it in the table that holds it.
        create: True to make the tables above it.
        where: Name of the file, for messages.

    Raises:
        ConfigError: When the key lies below a value.
        UsageError: When `dotted` is no key.
    """
    import tomlkit

    *above, key = split_key(dotted)
    document = tomlkit.parse(text)
    tables: list[Any] = [document]
    for depth, part in enumerate(above):
        inner = tables[-1].get(part)
        if inner is None and not create:
            return None
        if inner is None:
            inner = tomlkit.table(is_super_table=depth + 1 < len(above))
            tables[-1][part] = inner
            inner = tables[-1][part]
        if not hasattr(inner, "items"):
            raise ConfigError(
                f"{where}: {join_key(above[: depth + 1])} is a value, not a table, so it can't "
                f"hold {dotted}",
                fix=f"pegboard config unset {join_key(above[: depth + 1])}",
            )
        tables.append(inner)
    if not change(tables[-1], key):
        return None
    if not create:
        _drop_empty(tables, above)
    return tomlkit.dumps(document)


def _drop_empty(tables: list[Any], names: list[str]) -> None:
    for table, name in zip(reversed(tables[:-1]), reversed(names), strict=True):
        if len(table[name]) or table[name].as_string().strip():
            return
        del table[name]


def _items(table: Any, key: str, file: Path, dotted: str) -> list[Any]:
    items = table.get(key, [])
    if not isinstance(items, list):
        raise ConfigError(
            f"{file}: {dotted} must be a list, not {items!r}",
            fix=f"pegboard config set {dotted} '[]'",
        )
    return items
