"""The control plane: what only a run for an admin may touch, and how nobody else gets there.

It is judged before capabilities: none of them opens it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pegboard.contracts.caller import Caller
from pegboard.contracts.capability import ControlArea
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Outcome, Verdict

ADMIN_OPERATIONS: Final[Mapping[ControlArea, str]] = {
    "config": "changes the configuration",
    "secrets": "reads or changes secrets",
    "tokens": "makes or revokes tokens",
    "plugins": "installs, removes or switches plugins",
    "channels": "adds, removes or changes channels",
    "sessions": "deletes, exports or resets other conversations",
    "messages": "edits, deletes, fetches or attaches messages",
}
"""Area of the control plane -> what its tools do, in words."""

CONTROL_PLANE: Final = "control_plane"
"""Name of the rule."""

_INTERNAL: Final = "_"


def origin_refusal(caller: Caller, tool: RegisteredTool) -> Verdict | None:
    """Refuse a tool of the control plane to every run that is not for an admin."""
    area = tool.spec.control
    if area is None or caller.admin:
        return None
    does = ADMIN_OPERATIONS.get(area, "belongs to the control plane")
    return Verdict(
        Outcome.DENY,
        CONTROL_PLANE,
        f"{tool.canonical} {does}, which only an admin's own turn may do.",
        fix='Map the sender to "admin" in the section [policy.senders] of config.toml.',
    )


def without_internal(value: Any) -> Any:
    """Return outside input without any field whose name begins with `_`, at every depth.

    Such fields are how parts of the host mark what they know (who somebody is, what a run holds);
    an outsider who could set one could pretend to be the host.

    Args:
        value: JSON-like data.
    """
    if isinstance(value, Mapping):
        return {
            key: without_internal(item)
            for key, item in value.items()
            if not (isinstance(key, str) and key.startswith(_INTERNAL))
        }
    if type(value) in (list, tuple):
        return type(value)(map(without_internal, value))
    return value
