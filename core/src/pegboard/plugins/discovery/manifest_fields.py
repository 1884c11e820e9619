"""How each field of a manifest is read and checked; every message points at the key.

Names that other modules of the contracts define (effects, exposures) are spelled out, because
importing those modules would take longer than reading fifty manifests; a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pegboard.contracts.capability import CAPABILITIES, CONTROL_AREAS
from pegboard.contracts.errors import ManifestError

EFFECTS: Final = frozenset(
    {"read", "fs_write", "exec", "net_read", "net_write", "state_write", "gui"}
)
NAME_RULE: Final = "letters, digits and `_`, at most 64, beginning with a letter"
_TOOL_VALUES: Final[Mapping[str, tuple[str | None, ...]]] = {
    "audience": ("any", "owner"),
    "capability": (None, *CAPABILITIES),
    "control": (None, *CONTROL_AREAS),
    "exposure": ("direct", "model_only", "codemode", "deferred", "hidden"),
    "on_interrupt": (None, "rerun", "tell", "reconcile"),
    "policy_class": (
        None,
        "read_only",
        "read_write",
        "exec",
        "network",
        "external_api",
        "gui_control",
    ),
}


class ContributionFact(NamedTuple):
    """A contribution of a kind other than tool.

    Args:
        kind: `provider`, `channel`, `sandbox`, `skill_source`, `backend`, `command`,
            `chat_command`, or a plugin's own.
        name: Name of the type; unique among those of its kind in one plugin.
        summary: One line for people.
        config: JSON Schema of an instance's settings, or None.
        facts: Anything else that boot and search may read.
    """

    kind: str
    name: str
    summary: str = ""
    config: Mapping[str, Any] | None = None
    facts: Mapping[str, Any] = {}


class FamilyFact(NamedTuple):
    """Tools that come and go, and the most that they may be. `effects` None = unknown."""

    prefix: str
    kind: str = "tool"
    effects: tuple[str, ...] | None = None
    audience: str = "any"


Reader = Callable[[Any, str, str], Any]


def kind_of(value: Any) -> str:
    """Return what a JSON value is, for a message."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return names.get(type(value), "null" if value is None else "a number")


def text(value: Any, key: str, where: str) -> str:
    """Read a string."""
    if not isinstance(value, str):
        raise _wrong(where, key, "a string", value)
    return value


def optional_text(value: Any, key: str, where: str) -> str | None:
    """Read a string or null."""
    return None if value is None else text(value, key, where)


def flag(value: Any, key: str, where: str) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise _wrong(where, key, "true or false", value)
    return value


def table(value: Any, key: str, where: str) -> dict[str, Any]:
    """Read an object."""
    if not isinstance(value, dict):
        raise _wrong(where, key, "an object", value)
    return value


def optional_table(value: Any, key: str, where: str) -> dict[str, Any] | None:
    """Read an object or null."""
    return None if value is None else table(value, key, where)


def texts(value: Any, key: str, where: str) -> tuple[str, ...]:
    """Read a list of strings."""
    if not isinstance(value, list):
        raise _wrong(where, key, "a list", value)
    for item in value:
        if not isinstance(item, str):
            raise _wrong(where, f"{key}[{value.index(item)}]", "a string", item)
    return tuple(value)


def text_lists(value: Any, key: str, where: str) -> dict[str, tuple[str, ...]]:
    """Read an object whose values are lists of strings."""
    items = table(value, key, where).items()
    return {name: texts(names, f"{key}.{name}", where) for name, names in items}


def needs(value: Any, key: str, where: str) -> dict[str, tuple[str, ...]]:
    """Read what must be present; kinds of which nothing is needed are left out."""
    return {name: names for name, names in text_lists(value, key, where).items() if names}


def activate(value: Any, key: str, where: str) -> str:
    """Read when a plugin is imported."""
    return _one_of(value, key, where, ("use", "boot"))


def effects(value: Any, key: str, where: str) -> tuple[str, ...] | None:
    """Read a list of effects, or null for unknown ones."""
    if value is None:
        return None
    names = texts(value, key, where)
    if not EFFECTS.issuperset(names):
        unknown = ", ".join(sorted(set(names) - EFFECTS))
        raise ManifestError(
            f"{where}: `{key}` holds the unknown effect {unknown}; effects are: "
            f"{', '.join(sorted(EFFECTS))}"
        )
    return names


def tools(value: Any, key: str, where: str) -> tuple[Mapping[str, Any], ...]:
    """Read the tools: as raw dicts, of which `ToolSpec.from_dict` will take every one."""
    items = _objects(value, key, where)
    for index, item in enumerate(items):
        _check_tool(item, f"{key}[{index}]", where)
    _unique([item["name"] for item in items], key, where)
    return tuple(items)


def contributions(value: Any, key: str, where: str) -> tuple[ContributionFact, ...]:
    """Read the contributions of other kinds."""
    items = []
    for index, item in enumerate(_objects(value, key, where)):
        inside = f"{key}[{index}]"
        kind = text(item.get("kind"), f"{inside}.kind", where)
        if not kind or kind == "tool":
            raise ManifestError(f"{where}: `{inside}.kind` is {kind!r}; tools belong in `tools`")
        items.append(
            ContributionFact(
                kind,
                _name(item.get("name"), f"{inside}.name", where),
                text(item.get("summary", ""), f"{inside}.summary", where),
                optional_table(item.get("config"), f"{inside}.config", where),
                table(item.get("facts", {}), f"{inside}.facts", where),
            )
        )
    _unique([f"{item.kind} {item.name}" for item in items], key, where)
    return tuple(items)


def families(value: Any, key: str, where: str) -> tuple[FamilyFact, ...]:
    """Read the dynamic tools."""
    items = []
    for index, item in enumerate(_objects(value, key, where)):
        inside = f"{key}[{index}]"
        items.append(
            FamilyFact(
                _name(item.get("prefix"), f"{inside}.prefix", where),
                _one_of(
                    item.get("kind", "tool"), f"{inside}.kind", where, ("tool", "skill", "mcp")
                ),
                effects(item.get("effects"), f"{inside}.effects", where),
                _one_of(item.get("audience", "any"), f"{inside}.audience", where, ("any", "owner")),
            )
        )
    _unique([item.prefix for item in items], key, where)
    return tuple(items)


def _check_tool(item: Mapping[str, Any], inside: str, where: str) -> None:
    name = text(item.get("name"), f"{inside}.name", where)
    if not _is_name(name):
        raise ManifestError(f"{where}: `{inside}.name` is {name!r}; a tool's name is {NAME_RULE}")
    for key, value in item.items():
        # Most values are plain ones of the right type; the rest is worth building a message path.
        if type(value) is _PLAIN.get(key):
            continue
        reader = _TOOL_READERS.get(key)
        if reader is not None:
            reader(value, f"{inside}.{key}", where)
        elif key in _TOOL_VALUES and value not in _TOOL_VALUES[key]:
            options = ", ".join(option for option in _TOOL_VALUES[key] if option)
            raise ManifestError(
                f"{where}: `{inside}.{key}` must be one of {options}, not {value!r}"
            )


def _is_name(name: str) -> bool:
    plain = name.isascii() and name.isidentifier()
    return plain and name[0] != "_" and len(name) <= 64


def _objects(value: Any, key: str, where: str) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise _wrong(where, key, "a list", value)
    return [table(item, f"{key}[{index}]", where) for index, item in enumerate(value)]


def _unique(names: Sequence[str], key: str, where: str) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ManifestError(f"{where}: `{key}` has {twice} twice")


def _name(value: Any, key: str, where: str) -> str:
    name = text(value, key, where)
    if not name:
        raise ManifestError(f"{where}: `{key}` is empty")
    return name


def _one_of(value: Any, key: str, where: str, options: Sequence[str]) -> str:
    if value not in options:
        raise ManifestError(f"{where}: `{key}` must be one of {', '.join(options)}, not {value!r}")
    return str(value)


def _wrong(where: str, key: str, wanted: str, value: Any) -> ManifestError:
    return ManifestError(f"{where}: `{key}` must be {wanted}, not {kind_of(value)}")


def _number(value: Any, key: str, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong(where, key, "a number", value)
    return value


def _optional_flag(value: Any, key: str, where: str) -> bool | None:
    return None if value is None else flag(value, key, where)


def _limits(value: Any, key: str, where: str) -> None:
    for name, item in table(value, key, where).items():
        if name == "keep":
            _one_of(item, f"{key}.keep", where, ("head", "tail", "both"))
        elif name not in ("chars", "lines"):
            raise ManifestError(f"{where}: `{key}` has the unknown key {name!r}")
        elif item is not None or name == "chars":
            _number(item, f"{key}.{name}", where)


def _intents(value: Any, key: str, where: str) -> None:
    for index, item in enumerate(_objects(value, key, where)):
        text(item.get("pattern"), f"{key}[{index}].pattern", where)
        table(item.get("arguments", {}), f"{key}[{index}].arguments", where)


def _help(value: Any, key: str, where: str) -> None:
    help_data = table(value, key, where)
    text(help_data.get("when_to_use", ""), f"{key}.when_to_use", where)
    for name in ("examples", "failure_modes"):
        texts(help_data.get(name, []), f"{key}.{name}", where)


def _effects_by(value: Any, key: str, where: str) -> None:
    if not value:
        return
    if len(table(value, key, where)) != 1:
        raise ManifestError(f"{where}: `{key}` takes exactly one argument name")
    for argument, choices in value.items():
        for choice, names in table(choices, f"{key}.{argument}", where).items():
            if effects(names, f"{key}.{argument}.{choice}", where) is None:
                raise _wrong(where, f"{key}.{argument}.{choice}", "a list", None)


def _texts_by_name(value: Any, key: str, where: str) -> None:
    for name, item in table(value, key, where).items():
        text(item, f"{key}.{name}", where)


def _path_patterns(value: Any, key: str, where: str) -> None:
    for name, item in table(value, key, where).items():
        text(item, f"{key}.{name}", where)
        try:
            re.compile(item)
        except re.error as error:
            raise ManifestError(f"{where}: `{key}.{name}` is no regular expression") from error


def _access(value: Any, key: str, where: str) -> None:
    for name, effect in table(value, key, where).items():
        _one_of(effect, f"{key}.{name}", where, sorted(EFFECTS))


_PLAIN: Final[Mapping[str, type]] = {
    "category": str,
    "convert": bool,
    "description": str,
    "name": str,
    "parameters": dict,
}
_TOOL_READERS: Final[Mapping[str, Reader]] = {
    "access": _access,
    "aliases": texts,
    "argument_aliases": _texts_by_name,
    "attended": optional_text,
    "category": text,
    "convert": flag,
    "description": text,
    "effects": effects,
    "effects_by": _effects_by,
    "remarks": texts,
    "freeform": text,
    "help": _help,
    "intents": _intents,
    "limits": _limits,
    "needs": text_lists,
    "outside": _optional_flag,
    "parameters": table,
    "path_patterns": _path_patterns,
    "shell": texts,
    "timeout_s": _number,
}
