"""Settings that name a sandbox, a provider, a backend or a tool which does not exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pegboard.config.keys import join_key
from pegboard.config.load import Config
from pegboard.config.nearest import did_you_mean, nearest
from pegboard.config.schema import Problem
from pegboard.plugins.decision.kinds import KINDS, configured, why_absent

if TYPE_CHECKING:
    from pegboard.plugins.decision.boot import Boot

_ALWAYS: Final[dict[str, frozenset[str]]] = {
    "sandbox": frozenset({"auto"}),
    "backend": frozenset({"embedded"}),
}
"""Names that need no instance."""
_CORE_TOOLS: Final = frozenset(
    {"tool_search", "tool_describe", "tool_call", "tool_help", "tool_result_recall"}
)
_BY_ANY_NAME: Final = frozenset({"tools.excluded"})
"""Lists that know a tool by its aliases too."""


def unknown_names(config: Config, boot: Boot) -> Iterator[Problem]:
    """Yield every setting that names what does not exist.

    Nothing is said of what only the code of a plugin could tell: one that has no manifest may bring
    anything.
    """
    for kind, key, name in _instances_named(config):
        problem = _of_instance(config, boot, kind, key, name)
        if problem is not None:
            told = config.located(problem)
            # what mends the installation holds wherever the setting was made
            by_setting = (problem.fix or "").startswith("pegboard config")
            yield told if by_setting else told._replace(fix=problem.fix)
    if any(record.manifest is None for record in boot.records):
        return
    known, aliases, prefixes = _tools(boot)
    for key, names in _tools_named(config):
        have = known.union(aliases) if key in _BY_ANY_NAME else known
        for name in names:
            if isinstance(name, str) and name not in have and not name.startswith(prefixes):
                yield config.located(_of_tool(key, name, aliases.get(name, ""), have))


def _instances_named(config: Config) -> Iterator[tuple[str, str, str]]:
    """Yield kind, key and name of each instance that a setting names."""
    agents: dict[str, Any] = {"agent": config.section("agent")}
    agents |= {f"agents.{join_key([name])}": it for name, it in config.section("agents").items()}
    for section, agent in agents.items():
        if not isinstance(agent, Mapping):
            continue  # core's own schema reports it
        yield from _text("provider", f"{section}.provider", agent.get("provider"))
        fallbacks = agent.get("fallbacks")
        for item in fallbacks if isinstance(fallbacks, list) else ():
            first = item.partition("/")[0] if isinstance(item, str) else None
            yield from _text("provider", f"{section}.fallbacks", first)
    yield from _text("sandbox", "sandbox.use", config.section("sandbox").get("use"))
    yield from _text("backend", "store.backend", config.section("store").get("backend"))


def _text(kind: str, key: str, name: Any) -> Iterator[tuple[str, str, str]]:
    if isinstance(name, str) and name:
        yield kind, key, name


def _of_instance(config: Config, boot: Boot, kind: str, key: str, name: str) -> Problem | None:
    found = configured(boot, kind)
    have = {item.name for item in found.instances} | _ALWAYS.get(kind, frozenset())
    table = config.section(KINDS[kind].section or kind)
    if name in have or name in table or (found.doubts and not found.instances):
        return None  # what is wrong with a table of that name is told of the table
    absent = why_absent(boot, kind, name)
    if absent is not None:
        return Problem(key, f"{key}: {absent.message}", absent.fix)
    if any(record.manifest is None for record in boot.usable):
        return None
    hint = did_you_mean(name, have) or f"; there are: {', '.join(sorted(have)) or 'none'}"
    best = nearest(name, have)
    fix = f"pegboard config set {key} {best}" if best else f"pegboard config unset {key}"
    return Problem(key, f"{key}: there is no {kind} {name!r}{hint}", fix)


def _tools(boot: Boot) -> tuple[frozenset[str], Mapping[str, str], tuple[str, ...]]:
    """Return the names of all tools, their aliases, and what names of later ones begin with."""
    names, aliases, prefixes = set(_CORE_TOOLS), dict[str, str](), list[str]()
    for record in boot.records:
        manifest = record.manifest
        if manifest is None:
            continue
        for spec in manifest.tools:
            tool = str(spec["name"])
            names |= {tool, f"{record.id}:{tool}", f"{record.id}__{tool}"}
            aliases |= dict.fromkeys(spec.get("aliases", ()), tool)
        for family in manifest.families:
            prefixes += [f"{owner}{family.prefix}" for owner in ("", f"{record.id}:")]
            prefixes.append(f"{record.id}__{family.prefix}")
    return frozenset(names), aliases, tuple(prefixes)


def _tools_named(config: Config) -> Iterator[tuple[str, list[Any]]]:
    """Yield key and names of each list of tools."""
    tools = config.section("tools")
    lists: dict[str, Any] = {
        "tools.allowed": tools.get("allowed"),
        "tools.excluded": tools.get("excluded"),
        "policy.guest_tools": config.section("policy").get("guest_tools"),
        "scripts.allow": config.section("scripts").get("allow"),
    }
    for name, agent in config.section("agents").items():
        if isinstance(agent, Mapping):
            lists[f"agents.{join_key([name])}.tools"] = agent.get("tools")
    for name, tool in config.section("names").items():
        lists[f"names.{join_key([name])}"] = [tool]
    for key, names in lists.items():
        if isinstance(names, list):
            yield key, names


def _of_tool(key: str, name: str, owner: str, have: Any) -> Problem:
    if owner:
        return Problem(
            key,
            f"{key}: {name!r} is another name of the tool {owner}, and this list takes its own",
            f"write {owner} there",
        )
    return Problem(
        key,
        f"{key}: no plugin that is installed brings a tool {name!r}{did_you_mean(name, have)}",
        "pegboard tools list --all",
    )
