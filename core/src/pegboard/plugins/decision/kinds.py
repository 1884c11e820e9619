"""The kinds of contributions that core knows, and the config section of each.

A kind that a plugin defines has the section that the plugin reads; core makes no instances of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from pegboard.config.instances import Configured, ContributedType, instances
from pegboard.config.keys import join_key
from pegboard.config.schema import Problem, check, defaults
from pegboard.plugins.discovery.first_party import TYPE_PACKAGES

if TYPE_CHECKING:
    from pegboard.plugins.decision.boot import Boot


class Kind(NamedTuple):
    """A kind of contribution.

    Args:
        name: As contributions state it.
        section: Table of config that holds its instances, or None when it has none.
    """

    name: str
    section: str | None = None


KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("provider", "providers"),
        Kind("channel", "channels"),
        Kind("sandbox", "sandboxes"),
        Kind("skill_source", "skill_sources"),
        Kind("backend", "backends"),
        Kind("command"),
        Kind("chat_command"),
    )
}


def configured(boot: Boot, kind: str) -> Configured:
    """Return the instances of one kind that usable plugins and config make together.

    A type of a plugin that can't be used, or of a package that is not installed, is a problem that
    says what to do about that.
    """
    types = [
        ContributedType(record.id, fact.name, fact.config)
        for record, fact in boot.contributions(kind)
    ]
    known = {item.name for item in types}
    absent = {name: problem for name, problem in _absent(boot, kind) if name not in known}
    silent = [record.id for record in boot.usable if record.manifest is None]
    section = KINDS[kind].section
    return instances(kind, types, boot.config, section=section, absent=absent, silent=silent)


def why_absent(boot: Boot, kind: str, name: str) -> Problem | None:
    """Return why there is no instance of a name that somebody asks for, if that is known."""
    own = _key(kind, name)
    for problem in configured(boot, kind).problems:
        if problem.path == own or problem.path.startswith(f"{own}."):
            return problem
    return {**dict(_absent(boot, kind)), **dict(_unset(boot, kind))}.get(name)


def why_none(boot: Boot, kind: str) -> Problem | None:
    """Return why there is no instance of a kind at all; None when nothing brings any."""
    problems = configured(boot, kind).problems
    others = (problem for _, problem in (*_unset(boot, kind), *_unusable(boot, kind)))
    return next(iter((*problems, *others)), None)


def _key(kind: str, name: str) -> str:
    return f"{KINDS[kind].section}.{join_key([name])}"


def _absent(boot: Boot, kind: str) -> Iterator[tuple[str, Problem]]:
    for name, package in TYPE_PACKAGES.get(kind, {}).items():
        yield (
            name,
            Problem(
                "",
                f"the {kind} type {name!r} is brought by {package}, which is not installed",
                f"pip install {package}",
            ),
        )
    yield from _unusable(boot, kind)


def _unset(boot: Boot, kind: str) -> Iterator[tuple[str, Problem]]:
    """Yield the types that need settings which nobody made."""
    for _, fact in boot.contributions(kind):
        schema = fact.config or {}
        for problem in check(defaults(schema), schema, _key(kind, fact.name))[:1]:
            yield fact.name, problem


def _unusable(boot: Boot, kind: str) -> Iterator[tuple[str, Problem]]:
    for record in boot.records:
        if record.usable or record.manifest is None:
            continue
        for fact in record.manifest.contributions:
            if fact.kind == kind:
                message = (
                    f"the {kind} type {fact.name!r} is brought by the plugin {record.id}, which is "
                    f"{record.state}: {record.reason}"
                )
                yield fact.name, Problem("", message, record.fix)
