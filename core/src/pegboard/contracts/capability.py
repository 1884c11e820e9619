"""What the operator's profile lets an agent do on its own, and what no agent is ever lent.

Light on purpose: the reader of manifests imports it, and that is on the way to every command.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, get_args

Capability = Literal[
    "orch:read",
    "orch:web",
    "orch:write",
    "orch:analyze",
    "orch:spawn",
    "orch:graph",
    "orch:cron",
    "orch:skill",
    "orch:message",
    "orch:browse",
    "orch:mcp",
]
"""One surface that an agent may use on its own. The set is closed and has no wildcard."""

GatewayScope = Literal["rpc", "admin", "mcp-client"]
"""What a token of the network gateway is good for. No capability is or implies one."""

ControlArea = Literal["config", "secrets", "tokens", "plugins", "channels", "sessions", "messages"]
"""What a tool of the control plane manages; `messages` = to edit, delete, fetch or attach them."""

CAPABILITIES: Final[tuple[Capability, ...]] = get_args(Capability)
GATEWAY_SCOPES: Final[tuple[GatewayScope, ...]] = get_args(GatewayScope)
CONTROL_AREAS: Final[tuple[ControlArea, ...]] = get_args(ControlArea)

NEVER_DELEGATE: Final[frozenset[str]] = frozenset(
    {
        "channel_add",
        "channel_remove",
        "config_set",
        "config_unset",
        "gateway",
        "mcp_login",
        "message_attach",
        "message_delete",
        "message_edit",
        "message_fetch",
        "model_routing_config",
        "plugin_disable",
        "plugin_enable",
        "plugin_install",
        "plugin_uninstall",
        "request_directory_access",
        "secret_remove",
        "secret_set",
        "session_delete",
        "session_export",
        "session_reset",
        "token_create",
        "token_revoke",
    }
)
"""Names of tools that no capability may open to scripts; nor any name that ends as below."""

NEVER_DELEGATE_ENDINGS: Final = ("_manage",)


def is_delegable(name: str) -> bool:
    """Tell whether a capability may open a tool of this name to scripts."""
    return name not in NEVER_DELEGATE and not name.endswith(NEVER_DELEGATE_ENDINGS)


def capability_fault(
    names: Iterable[str], capability: object, control: object = None
) -> str | None:
    """Return why a tool can't declare a capability, or None when it can or declares none.

    Args:
        names: Name and aliases of the tool.
        capability: What it declares.
        control: The area of the control plane that it declares, or None.
    """
    if capability is None:
        return None
    if capability not in CAPABILITIES:
        return f"there is no capability {capability!r}; there are: {', '.join(CAPABILITIES)}"
    if control is not None:
        return f"a tool of the control plane ({control}) can't be opened by {capability}"
    lent = [name for name in names if not is_delegable(name)]
    if lent:
        return f"{lent[0]} is never delegated, so it can't declare the capability {capability}"
    return None
