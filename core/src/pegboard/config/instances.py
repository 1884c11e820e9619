"""Configured instances of the types that plugins contribute.

`[providers.groq] type = "openai"` makes an instance named groq. A type that nobody has configured
and that needs no settings gets one instance, named like the type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pegboard.config.keys import join_key
from pegboard.config.load import Config
from pegboard.config.nearest import did_you_mean, nearest
from pegboard.config.schema import Problem, check, defaults, schema_fault

SECRET_NAME: Final = "x-secret-name"
"""Marks, in the schema of a type's settings, a text that names a secret."""
_TYPE_ONLY: Final = frozenset({"type"})
_CORE_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "channel": frozenset({"type", "guests", "agent"})
}
"""Keys of an instance's table that are core's own, by kind; its type never sees them."""


class ContributedType(NamedTuple):
    """A type that config can make instances of: who brings it, its name, its settings' schema."""

    plugin: str
    name: str
    config: Mapping[str, Any] | None = None


class Instance(NamedTuple):
    """One instance; `settings` holds what was configured over the type's defaults.

    `secrets` are the names of secrets that its settings give.
    """

    name: str
    kind: str
    type: str
    plugin: str
    settings: Mapping[str, Any]
    secrets: frozenset[str] = frozenset()


class Configured(NamedTuple):
    """The instances of one kind, sorted by name, and what is wrong with the others.

    `doubts` are of tables whose type may be brought by a plugin that has no manifest yet.
    """

    instances: tuple[Instance, ...]
    problems: tuple[Problem, ...]
    doubts: tuple[Problem, ...] = ()

    def named(self, name: str) -> Instance | None:
        """Return an instance, or None."""
        return next((item for item in self.instances if item.name == name), None)


def instances(
    kind: str,
    types: Iterable[ContributedType],
    config: Config,
    *,
    section: str | None = None,
    absent: Mapping[str, Problem] | None = None,
    silent: Sequence[str] = (),
) -> Configured:
    """Join types with their configured tables.

    Args:
        kind: Kind of contribution, e.g. `provider`.
        types: The types that can be used. Two plugins that bring a type of one name clash: the
            table then says `type = "plugin:name"`.
        config: The settings.
        section: Table of config; None = the kind with an `s`.
        absent: Types that are known but can't be used -> why, and what to do.
        silent: Ids of the plugins that may bring further types, which only their code knows.
    """
    section = section or f"{kind}s"
    table = _Types(types)
    found: list[Instance] = []
    problems: list[Problem] = []
    doubts: list[Problem] = []
    used: set[tuple[str, str]] = set()
    for name, settings in config.section(section).items():
        if not isinstance(settings, Mapping):
            continue  # core's own schema reports it
        path = f"{section}.{join_key([name])}"
        wanted = settings.get("type", name)
        chosen = table.find(wanted, path, absent or {})
        if isinstance(chosen, Problem):
            problems.append(config.located(chosen))
            continue
        if chosen is None:
            doubt = _doubt(f"{path}.type", wanted, silent) if silent else table.none(wanted, path)
            (doubts if silent else problems).append(config.located(doubt))
            continue
        used.add((chosen.plugin, chosen.name))
        instance, faults = _made(kind, name, chosen, settings, path)
        problems.extend(map(config.located, faults))
        found.extend([instance] if instance else [])
    taken = {item.name for item in found} | set(config.section(section))
    for name, owners in table.clashes():
        if name not in taken and used.isdisjoint((owner.plugin, name) for owner in owners):
            problems.append(_clash(kind, f"{section}.{join_key([name])}.type", owners))
    free = [
        _usual(kind, item)
        for item in table.all
        if not ((item.plugin, item.name) in used or item.name in taken) and table.unique(item.name)
    ]
    found.extend(item for item in free if isinstance(item, Instance))
    problems.extend(item for item in free if isinstance(item, Problem))
    made = tuple(sorted(found, key=lambda item: item.name))
    return Configured(made, tuple(problems), tuple(doubts))


class _Types:
    """Types by name, and by `plugin:name`."""

    def __init__(self, types: Iterable[ContributedType]) -> None:
        self.all = sorted(types, key=lambda item: (item.name, item.plugin))
        self._by_name: dict[str, list[ContributedType]] = {}
        for item in self.all:
            self._by_name.setdefault(item.name, []).append(item)
            self._by_name.setdefault(f"{item.plugin}:{item.name}", []).append(item)

    def unique(self, name: str) -> bool:
        return len(self._by_name.get(name, ())) == 1

    def clashes(self) -> Iterator[tuple[str, list[ContributedType]]]:
        for name in sorted({item.name for item in self.all}):
            if not self.unique(name):
                yield name, self._by_name[name]

    def find(
        self, wanted: object, path: str, absent: Mapping[str, Problem]
    ) -> ContributedType | Problem | None:
        found = self._by_name.get(wanted, []) if isinstance(wanted, str) else []
        if len(found) == 1:
            return found[0]
        key = f"{path}.type"
        if found:
            return _clash("", key, found)
        if isinstance(wanted, str) and wanted in absent:
            return absent[wanted]._replace(path=key)
        return None

    def none(self, wanted: object, path: str) -> Problem:
        """Return what is wrong with a type that nobody brings."""
        key = f"{path}.type"
        names = {item.name for item in self.all}
        best = nearest(str(wanted), names)
        hint = did_you_mean(str(wanted), names) or (
            f"; types are: {', '.join(sorted(names))}" if names else "; no plugin brings any"
        )
        fix = f"pegboard config set {key} {best}" if best else f"pegboard config unset {path}"
        return Problem(key, f"{key}: there is no type {wanted!r}{hint}", fix)


def _usual(kind: str, chosen: ContributedType) -> Instance | Problem | None:
    """Return the instance of a type that nobody has configured; None where it needs settings."""
    settings = defaults(chosen.config or {})
    if chosen.config is None or not check(settings, chosen.config):
        secrets = _secrets(settings, chosen.config)
        return Instance(chosen.name, kind, chosen.name, chosen.plugin, settings, secrets)
    if broken := schema_fault(chosen.config):
        message = f"the {kind} type {chosen.name} of {chosen.plugin}: its schema {broken}"
        return Problem("", message, f"pegboard plugins disable {chosen.plugin}")
    return None


def _doubt(key: str, wanted: object, silent: Sequence[str]) -> Problem:
    first, *others = sorted(silent)
    owners = (
        f"one of the plugins {', '.join((first, *others))}" if others else f"the plugin {first}"
    )
    return Problem(
        key,
        f"{key}: no manifest brings a type {wanted!r}; whether {owners} does is known only when "
        "its code runs",
        f"pegboard plugins build {first}",
    )


def _clash(kind: str, key: str, owners: Sequence[ContributedType]) -> Problem:
    who = " and ".join(item.plugin for item in owners)
    first = f"{owners[0].plugin}:{owners[0].name}"
    return Problem(
        key,
        f"{key}: the plugins {who} both bring a type {owners[0].name!r}"
        + (f", so no {kind} is made of either" if kind else ""),
        f"pegboard config set {key} {first}",
    )


def _made(
    kind: str, name: str, chosen: ContributedType, settings: Mapping[str, Any], path: str
) -> tuple[Instance | None, list[Problem]]:
    core = _CORE_KEYS.get(kind, _TYPE_ONLY)
    own = {key: value for key, value in settings.items() if key not in core}
    if chosen.config is None:
        faults = [
            Problem(
                f"{path}.{join_key([key])}",
                f"unknown key {path}.{join_key([key])}: the type {chosen.name} has no settings",
                f"pegboard config unset {path}.{join_key([key])}",
            )
            for key in own
        ]
        return (None if faults else Instance(name, kind, chosen.name, chosen.plugin, own)), faults
    merged = {**defaults(chosen.config), **own}
    faults = check(merged, chosen.config, path)
    if faults:
        return None, faults
    secrets = _secrets(merged, chosen.config)
    return Instance(name, kind, chosen.name, chosen.plugin, merged, secrets), []


def _secrets(settings: Mapping[str, Any], schema: Mapping[str, Any] | None) -> frozenset[str]:
    """Return the names of secrets that settings give, where their schema says that they do."""
    properties = (schema or {}).get("properties", {})
    return frozenset(
        value
        for key, value in settings.items()
        if isinstance(value, str)
        and value
        and isinstance(properties.get(key), Mapping)
        and properties[key].get(SECRET_NAME) is True
    )
