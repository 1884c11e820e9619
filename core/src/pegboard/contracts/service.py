"""Background work of plugins, and what the host says of its health."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Restart = Literal["always", "on_failure", "never"]
Health = Literal["starting", "running", "stopped", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundStatus:
    """How a background service of a plugin is doing.

    Args:
        plugin: Plugin id.
        name: Name of the service.
        health: Where it is.
        restarts: How often it was started again.
        error: The last failure, or "".
    """

    plugin: str
    name: str
    health: Health
    restarts: int = 0
    error: str = ""
