"""The filters that leave tools out, in the one order in which they compose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pegboard.contracts.effects import PolicyClass
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Outcome, Verdict
from pegboard.policy.agents import HANDOFF
from pegboard.policy.authority import mcp_names
from pegboard.policy.ceiling import Ceiling

Filter = Callable[[RegisteredTool, PolicyClass, Ceiling], Verdict | None]


def kind(tool: RegisteredTool, effective: PolicyClass, ceiling: Ceiling) -> Verdict | None:
    """Refuse a tool of a kind that the call site does not want."""
    if ceiling.kinds is None or tool.kind in ceiling.kinds:
        return None
    return _hide("filter.kind", f"{tool.canonical} is of kind {tool.kind}, which is left out here.")


def policy(tool: RegisteredTool, effective: PolicyClass, ceiling: Ceiling) -> Verdict | None:
    """Refuse a class that the trust does not have, or that a narrowing took away."""
    if effective in ceiling.classes:
        return None
    if effective not in ceiling.trust_classes:
        return _hide(
            "trust.class",
            f"{tool.canonical} is of class {effective}, which a {ceiling.trust} does not have.",
        )
    return _hide(
        "policy.class", f"{tool.canonical} is of class {effective}, which this run does not have."
    )


def owner_only(tool: RegisteredTool, effective: PolicyClass, ceiling: Ceiling) -> Verdict | None:
    """Refuse a guest what returns the owner's own data."""
    if ceiling.trust == "operator" or tool.spec.audience != "owner":
        return None
    return _hide("owner_only", f"{tool.canonical} returns the owner's own data.")


def allow_list(tool: RegisteredTool, effective: PolicyClass, ceiling: Ceiling) -> Verdict | None:
    """Refuse what an allow-list does not name; an empty list names nothing."""
    for item in ceiling.allow_lists:
        if tool.canonical not in item.names and tool.wire_name not in item.names:
            return _hide(item.rule, f"{tool.canonical} is not among the allowed tools.", item.fix)
    return _unlisted_server(tool, ceiling) if tool.kind == "mcp" else None


def excluded_name(tool: RegisteredTool, effective: PolicyClass, ceiling: Ceiling) -> Verdict | None:
    """Refuse a tool that is left out by any of its names."""
    names = ceiling.excluded_names
    if not names or names.isdisjoint(
        (tool.spec.name, tool.canonical, tool.wire_name, *tool.spec.aliases)
    ):
        return None
    return _hide(
        "filter.excluded_names",
        f"{tool.canonical} is left out by name.",
        "Remove its name from excluded in the section [tools] of config.toml.",
    )


def excluded_category(
    tool: RegisteredTool, effective: PolicyClass, ceiling: Ceiling
) -> Verdict | None:
    """Refuse a tool whose category is left out."""
    if tool.spec.category not in ceiling.excluded_categories:
        return None
    return _hide(
        "filter.excluded_categories",
        f"{tool.canonical} is of category {tool.spec.category}, which is left out.",
        "Remove the category from excluded_categories in the section [tools] of config.toml.",
    )


def hidden(tool: RegisteredTool, effective: PolicyClass, ceiling: Ceiling) -> Verdict | None:
    """Refuse what only those see who ask for hidden tools, or who have somebody to hand over to."""
    if tool.spec.exposure == "hidden" and not ceiling.include_hidden:
        return _hide("filter.hidden", f"{tool.canonical} is hidden.")
    if tool.spec.category == HANDOFF and not ceiling.heirs:
        return _hide(
            "filter.no_heir",
            f"{tool.canonical} hands over to another agent, and there is none for this one.",
            "Name agents in delegates in the section [agents.main] of config.toml.",
        )
    return None


CHAIN: Final[tuple[Filter, ...]] = (
    kind,
    policy,
    owner_only,
    allow_list,
    excluded_name,
    excluded_category,
    hidden,
)
"""The order in which filters compose; the first that refuses names the rule."""


def refusal(tool: RegisteredTool, effective: PolicyClass, ceiling: Ceiling) -> Verdict | None:
    """Return why a tool is above the ceiling, or None. What is above it is never disclosed.

    Args:
        tool: The tool.
        effective: The class that it, or the call, counts as.
        ceiling: What the caller may use.
    """
    for check in CHAIN:
        verdict = check(tool, effective, ceiling)
        if verdict is not None:
            return verdict
    return None


def _unlisted_server(tool: RegisteredTool, ceiling: Ceiling) -> Verdict | None:
    """Refuse an MCP tool when a list of servers and their tools names neither."""
    server, names = mcp_names(tool)
    known = {server, *(f"{server}:{name}" for name in names)}
    if not any(known.isdisjoint(listed) for listed in ceiling.mcp_lists):
        return None
    return _hide(
        "filter.mcp",
        f"{tool.canonical} of the server {server!r} is not opened to this agent.",
        "Add the server to mcp in the agent's section of config.toml.",
    )


def _hide(rule: str, reason: str, fix: str | None = None) -> Verdict:
    return Verdict(Outcome.DENY, rule, reason, disclosed=False, fix=fix)
