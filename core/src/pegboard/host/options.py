"""How a host is opened."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pegboard.config.paths import Paths
from pegboard.contracts.clock import Clock, SystemClock
from pegboard.policy.redaction import Redactor


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOptions:
    """How a host is opened.

    Args:
        paths: Where config, state, data and cache live; None = the usual places.
        overrides: Settings by dotted key that win over every file.
        project: A trusted folder whose `.pegboard/config.toml` counts, or None.
        workspace: The folder that tools work in; None = the current one.
        safe: True to load only plugins that Pegboard ships.
        only: Ids of the only plugins to load; None = what `PEGBOARD_PLUGINS` says, else all.
        plugin_path: Folders to look for plugins in; None = `sys.path`.
        env: The environment.
        clock: Time.
        redactor: Takes secrets out of logs, error texts and the audit log; it learns those that
            the host reads.
        resident: True to own the store; False to share it with other hosts that end soon.
        grace_s: Seconds that running turns have to end when the host stops; what has not ended by
            then is handed on to the next host.
    """

    paths: Paths | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    project: Path | None = None
    workspace: Path | None = None
    safe: bool = False
    only: tuple[str, ...] | None = None
    plugin_path: Sequence[str] | None = None
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    clock: Clock = field(default_factory=SystemClock)
    redactor: Redactor = field(default_factory=Redactor)
    resident: bool = False
    grace_s: float = 5.0
