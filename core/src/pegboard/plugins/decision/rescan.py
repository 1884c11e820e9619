"""What changed between two looks at the environment."""

from __future__ import annotations

from typing import NamedTuple

from pegboard.plugins.decision.boot import Boot
from pegboard.plugins.decision.state import PluginRecord


class Changes(NamedTuple):
    """Ids of plugins.

    Args:
        added: Usable now, and not before: newly installed, enabled or mended.
        removed: Usable before, and not now.
        changed: Usable in both, but another version or another manifest: the code that is loaded
            stays until the host restarts.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def rescan(old: Boot, new: Boot) -> Changes:
    """Compare two boots; plugins come in the order of the boot that they are taken from."""
    before = {record.id: record for record in old.usable}
    after = {record.id: record for record in new.usable}
    return Changes(
        added=tuple(name for name in after if name not in before),
        removed=tuple(name for name in before if name not in after),
        changed=tuple(
            name
            for name, record in after.items()
            if name in before and _differs(before[name], record)
        ),
    )


def _differs(old: PluginRecord, new: PluginRecord) -> bool:
    if (old.dist, old.version, old.found.value) != (new.dist, new.version, new.found.value):
        return True
    # One that was built in memory is not there after a boot; that says nothing about the code.
    both = old.manifest is not None and new.manifest is not None
    return both and old.manifest != new.manifest
