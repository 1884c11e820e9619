"""Short names of tools: unique, or nobody's until config decides.

A model is offered `search` while one tool has that name. When two plugins bring a `search`, neither
gets it: a name that silently changes hands changes what an agent does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pegboard.config.core_schema import CORE
from pegboard.config.nearest import did_you_mean, nearest
from pegboard.config.schema import Problem


class ToolNames(NamedTuple):
    """The names that one tool would like.

    Args:
        plugin: Id of the plugin that brings it.
        tool: Its own name.
        aliases: Further names that mean it too.
        dist: Distribution of the plugin, for messages.
    """

    plugin: str
    tool: str
    aliases: tuple[str, ...] = ()
    dist: str = ""

    @property
    def canonical(self) -> str:
        """`plugin:tool`."""
        return f"{self.plugin}:{self.tool}"

    @property
    def wire(self) -> str:
        """`plugin__tool`, which a model can always call."""
        return f"{self.plugin.replace('-', '_')}__{self.tool}"


class NameTable(NamedTuple):
    """Who has which short name.

    Args:
        offered: Canonical name -> the name shown to a model, or "" when a clash took it.
        found: Short name or alias -> canonical name.
        problems: Clashes, each with the line that settles it.
    """

    offered: Mapping[str, str]
    found: Mapping[str, str]
    problems: tuple[Problem, ...] = ()


def short_names(
    tools: Iterable[ToolNames], config_names: Mapping[str, str] | None = None
) -> NameTable:
    """Share out short names: config first, then tools' own names, then aliases.

    Args:
        tools: Every tool.
        config_names: `[names]`: short name -> canonical name.
    """
    known = {tool.canonical: tool for tool in sorted(tools)}
    problems: list[Problem] = []
    found = _chosen(known, config_names or {}, problems)
    # A tool named `files__file_read` would stand in for the tool file_read of the plugin files.
    reserved = {tool.wire: tool for tool in known.values()}
    for name, owners in _by_name((tool.tool, tool) for tool in known.values()).items():
        if name not in found:
            _give(name, owners, reserved, found, problems)
    own = {tool.tool for tool in known.values()}
    wanted = ((alias, tool) for tool in known.values() for alias in tool.aliases)
    for alias, owners in _by_name(wanted).items():
        if alias not in found and alias not in own:
            _give(alias, owners, reserved, found, problems)
    return NameTable(_offered(known, found, config_names or {}), found, tuple(problems))


def _chosen(
    known: Mapping[str, ToolNames], names: Mapping[str, str], problems: list[Problem]
) -> dict[str, str]:
    """Return what `[names]` decides, less what it can't."""
    found: dict[str, str] = {}
    core = {tool.tool for tool in known.values() if tool.plugin == CORE}
    for name, canonical in names.items():
        path = f"names.{name}"
        if name in core:
            message = f"{path}: {name} is a tool of Pegboard itself, and no other can have its name"
            problems.append(Problem(path, message, f"pegboard config unset {path}"))
        elif canonical in known:
            found[name] = canonical
        else:
            best = nearest(canonical, known)
            problems.append(
                Problem(
                    path,
                    f"{path}: there is no tool {canonical!r}{did_you_mean(canonical, known)}",
                    f"pegboard config set {path} {best}"
                    if best
                    else f"pegboard config unset {path}",
                )
            )
    return found


def _by_name(wanted: Iterable[tuple[str, ToolNames]]) -> dict[str, list[ToolNames]]:
    groups: dict[str, list[ToolNames]] = {}
    for name, tool in wanted:
        owners = groups.setdefault(name, [])
        if tool not in owners:
            owners.append(tool)
    return groups


def _give(
    name: str,
    owners: Sequence[ToolNames],
    reserved: Mapping[str, ToolNames],
    found: dict[str, str],
    problems: list[Problem],
) -> None:
    core = [tool for tool in owners if tool.plugin == CORE]
    rival = reserved.get(name)
    if rival is not None and rival not in owners:
        owners = [*owners, rival]
    if len(owners) == 1 or core:
        found[name] = (core or owners)[0].canonical
    if len(owners) > 1:
        problems.append(_clash(name, owners, core))


def _clash(name: str, owners: Sequence[ToolNames], core: Sequence[ToolNames]) -> Problem:
    who = " and ".join(
        f"{tool.canonical} ({tool.dist})" if tool.dist else tool.canonical for tool in owners
    )
    path = f"names.{name}"
    if core:
        losers = ", ".join(tool.wire for tool in owners if tool.plugin != CORE)
        return Problem(path, f"{who} have one name; Pegboard's own keeps it, the other is {losers}")
    return Problem(
        path,
        f"{who} want the name {name!r}, so neither has it; config decides with "
        f'[names] {name} = "{owners[0].canonical}"',
        f"pegboard config set {path} {owners[0].canonical}",
    )


def _offered(
    known: Mapping[str, ToolNames], found: Mapping[str, str], names: Mapping[str, str]
) -> dict[str, str]:
    """Return the one name a model sees of each tool: its own, else one that config gave it."""
    given = {canonical: name for name, canonical in names.items() if found.get(name) == canonical}
    return {
        canonical: tool.tool if found.get(tool.tool) == canonical else given.get(canonical, "")
        for canonical, tool in known.items()
    }
