"""What one caller may use at one call site: every narrowing of a decision, folded together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pegboard.contracts.caller import Caller, ToolFilter
from pegboard.contracts.effects import Effects, PolicyClass, ToolKind, Trust
from pegboard.policy.derive import allowed_effects, resolve_policy


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowList:
    """Names to which one party narrows a run; `rule` names that party in a verdict."""

    rule: str
    names: frozenset[str]
    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The folded narrowings of a caller and any number of filters.

    Args:
        trust: Trust of the caller, already `guest` when it was absent.
        kinds: Kinds of tools that are kept; None = all.
        trust_classes: Classes that the trust has by default.
        classes: Those that are left of them.
        effects: The effects that a call may have in its sandbox.
        allow_lists: Each must name the tool.
        excluded_names: Names left out.
        excluded_categories: Categories left out.
        mcp_lists: Each must name an MCP tool or its server.
        heirs: Agents that the caller's agent may hand over to.
        include_hidden: True when tools of exposure `hidden` may be used.
    """

    trust: Trust
    kinds: frozenset[ToolKind] | None
    trust_classes: frozenset[PolicyClass]
    classes: frozenset[PolicyClass]
    effects: Effects
    allow_lists: tuple[AllowList, ...] = ()
    excluded_names: frozenset[str] = field(default_factory=frozenset)
    excluded_categories: frozenset[str] = field(default_factory=frozenset)
    mcp_lists: tuple[frozenset[str], ...] = ()
    heirs: frozenset[str] = frozenset()
    include_hidden: bool = False

    @classmethod
    def of(
        cls,
        caller: Caller,
        filters: Iterable[ToolFilter],
        *,
        guest_tools: frozenset[str],
        heirs: frozenset[str] = frozenset(),
    ) -> Ceiling:
        """Fold what a caller and all filters leave.

        Args:
            caller: Whom the decision is for.
            filters: The operator's filter and those of the call site.
            guest_tools: The only names that a guest may use.
            heirs: Agents that the caller's agent may hand over to; delegated work never does.
        """
        given = tuple(filters)
        trust: Trust = "operator" if caller.trust == "operator" else "guest"
        trust_classes = resolve_policy(trust)
        classes = trust_classes
        for allow, deny in [
            (caller.classes, frozenset[PolicyClass]()),
            *((item.policy, item.denied) for item in given),
        ]:
            classes = (classes if allow is None else classes & allow) - deny
        return cls(
            trust=trust,
            kinds=_kinds(given),
            trust_classes=trust_classes,
            classes=classes,
            effects=allowed_effects(classes),
            allow_lists=_allow_lists(caller, trust, given, guest_tools),
            excluded_names=frozenset[str]().union(*(item.excluded_names for item in given)),
            excluded_categories=frozenset[str]().union(
                *(item.excluded_categories for item in given)
            ),
            mcp_lists=tuple(names for item in given for names in item.mcp),
            heirs=frozenset() if caller.depth else heirs,
            include_hidden=any(item.include_hidden for item in given),
        )


def _kinds(filters: tuple[ToolFilter, ...]) -> frozenset[ToolKind] | None:
    kept: frozenset[ToolKind] | None = None
    for item in filters:
        if item.kind != "all":
            one = frozenset[ToolKind]({item.kind})
            kept = one if kept is None else kept & one
    return kept


def _allow_lists(
    caller: Caller, trust: Trust, filters: tuple[ToolFilter, ...], guest_tools: frozenset[str]
) -> tuple[AllowList, ...]:
    lists = []
    if trust == "guest":
        lists.append(
            AllowList(
                rule="guest.allow_list",
                names=guest_tools,
                fix="Add its name to guest_tools in the section [policy] of config.toml.",
            )
        )
    if caller.tools is not None:
        lists.append(AllowList(rule="caller.tools", names=caller.tools))
    lists.extend(
        AllowList(
            rule="filter.allowed_tools",
            names=item.allowed_tools,
            fix="Add its name to the list of allowed tools, or remove the list.",
        )
        for item in filters
        if item.allowed_tools is not None
    )
    return tuple(lists)
