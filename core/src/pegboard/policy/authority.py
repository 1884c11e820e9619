"""What a caller lacks for a tool that is not above its ceiling, in the order in which it is asked.

The control plane, its lease, the breaker, capabilities, and what is opened to scripts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pegboard.contracts.caller import Caller
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Outcome, Verdict
from pegboard.policy.capabilities import BINDING, SPAWN, capability_fix, check_capability
from pegboard.policy.control_plane import origin_refusal
from pegboard.policy.snapshot import PolicySnapshot

Rule = Callable[[PolicySnapshot, Caller, RegisteredTool], Verdict | None]


def control_plane(policy: PolicySnapshot, caller: Caller, tool: RegisteredTool) -> Verdict | None:
    """Refuse the control plane to all but an admin's run, whatever it holds."""
    return origin_refusal(caller, tool)


def lease(policy: PolicySnapshot, caller: Caller, tool: RegisteredTool) -> Verdict | None:
    """Refuse every call of a run whose lease has ended or was revoked."""
    if not caller.lease or caller.lease in policy.leases.live:
        return None
    return _deny(
        "lease.ended",
        f"{tool.canonical} can't be called: the lease of this run has ended or was revoked.",
        "Start again in a new turn.",
    )


def breaker(policy: PolicySnapshot, caller: Caller, tool: RegisteredTool) -> Verdict | None:
    """Refuse every call of a run that was refused too often in a row."""
    if not policy.leases.aborted(caller.lease):
        return None
    return _deny(
        "denial_breaker",
        f"{tool.canonical} can't be called: this run was refused too often in a row and stopped.",
        "Say what was refused, so that a person can decide; nothing more can be called here.",
    )


def capability(policy: PolicySnapshot, caller: Caller, tool: RegisteredTool) -> Verdict | None:
    """Refuse what needs a capability that is not held; a script may call nothing without one."""
    needed = tool.spec.capability
    if needed is None:
        if caller.origin != "script":
            return None
        return _deny(
            "capability.none", f"{tool.canonical} has no capability, so no script may call it."
        )
    if caller.origin != "script" and needed not in BINDING:
        return None
    if check_capability(policy.held(caller), needed):
        return None
    if needed == SPAWN and caller.depth:
        return _deny(
            "capability.spawn",
            f"{tool.canonical} starts other runs, which delegated work (depth {caller.depth}) "
            "may not.",
            "Do the work here, or say in the answer what is left to do.",
        )
    return _deny(
        f"capability.{needed.partition(':')[2]}",
        f"{tool.canonical} needs the capability {needed}, which this run does not hold.",
        capability_fix(needed),
    )


def script_surface(policy: PolicySnapshot, caller: Caller, tool: RegisteredTool) -> Verdict | None:
    """Refuse a script what the operator has not opened to scripts."""
    if caller.origin != "script":
        return None
    if not tool.first_party and tool.canonical not in policy.script_tools:
        return _deny(
            "script.allow",
            f"{tool.canonical} is a third party's tool that no list opens to scripts.",
            "Add its name to allow in the section [scripts] of config.toml.",
        )
    if tool.spec.capability == "orch:write" and not policy.script_write:
        return _deny(
            "script.write",
            f"{tool.canonical} writes, which scripts may not.",
            "Set write = true in the section [autonomy] of config.toml.",
        )
    if tool.kind == "mcp" or tool.spec.capability == "orch:mcp":
        server, names = mcp_names(tool)
        if not any((server, name) in policy.mcp_allow for name in names):
            return _deny(
                "script.mcp",
                f"{tool.canonical} of the server {server!r} is not opened to scripts.",
                "Add it to its server in the section [autonomy.mcp.allow] of config.toml.",
            )
    return None


RULES: Final[tuple[Rule, ...]] = (control_plane, lease, breaker, capability, script_surface)
"""The order in which they are asked; the first that refuses names the rule."""


def lacking(policy: PolicySnapshot, caller: Caller, tool: RegisteredTool) -> Verdict | None:
    """Return what a caller lacks for a tool, or None.

    Args:
        policy: The frozen settings.
        caller: Whom it is for.
        tool: A tool that is not above the caller's ceiling.
    """
    for rule in RULES:
        verdict = rule(policy, caller, tool)
        if verdict is not None:
            return verdict
    return None


def mcp_names(tool: RegisteredTool) -> tuple[str, tuple[str, ...]]:
    """Return the server of an MCP tool, and the names by which an allow-list may mean it.

    The server is the group of its family; its names are the one it has here, and that without the
    prefix of the family and the server.
    """
    server = tool.metadata.get("group", "")
    short = tool.spec.name.removeprefix(tool.metadata.get("family", ""))
    return server, (tool.spec.name, short.removeprefix(f"{server}_"))


def _deny(rule: str, reason: str, fix: str | None = None) -> Verdict:
    return Verdict(Outcome.DENY, rule, reason, fix=fix)
