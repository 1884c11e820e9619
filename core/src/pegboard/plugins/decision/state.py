"""The state of a plugin, and the record that carries it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from pegboard.plugins.discovery.manifest import Manifest
from pegboard.plugins.discovery.scan import FoundPlugin


class State(StrEnum):
    """Where a plugin is. The first three can be used; the others say why not, and what to do."""

    READY = "ready"
    ACTIVE = "active"
    UNMANIFESTED = "unmanifested"
    DISABLED = "disabled"
    BLOCKED = "blocked"
    UNTRUSTED = "untrusted"
    INCOMPATIBLE = "incompatible"
    MISSING_NEED = "missing-need"
    MISCONFIGURED = "misconfigured"
    CONFLICT = "conflict"
    FAILED = "failed"


USABLE: Final = frozenset({State.READY, State.ACTIVE, State.UNMANIFESTED})


class PluginRecord(NamedTuple):
    """One plugin after boot. It never changes: `record._replace(state=...)` makes another.

    Args:
        found: Where it is installed.
        manifest: What it contributes; None when it has no manifest or it can't be read.
        state: Where it is.
        reason: Why, in one sentence, or "".
        fix: The one command that changes it, or None.
        details: JSON-serialisable facts (`dists`, `problems`, `traceback`).
        first_party: True for a plugin that Pegboard ships.
    """

    found: FoundPlugin
    manifest: Manifest | None
    state: State
    reason: str = ""
    fix: str | None = None
    details: Mapping[str, Any] = {}
    first_party: bool = False

    @property
    def id(self) -> str:
        """Id of the plugin."""
        return self.found.id

    @property
    def dist(self) -> str:
        """Name of its distribution."""
        return self.found.dist

    @property
    def version(self) -> str:
        """Version of its distribution."""
        return self.found.version

    @property
    def usable(self) -> bool:
        """Whether it can be, or is, activated."""
        return self.state in USABLE
