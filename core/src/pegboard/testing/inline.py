"""Plugins of a test: a `Plugin` object, found by the host as an installed one is.

A generated distribution holds the manifest and a module that hands over the object; nothing in the
host knows the difference.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, Final

from pegboard.plugins.declaration import Plugin
from pegboard.testing.dists import Dist, make_dist

_GIVEN: Final[dict[str, Any]] = {}
_NUMBERS: Final = itertools.count(1)


def inline_dist(folder: Path, plugin_id: str, plugin: Plugin) -> Dist:
    """Write the distribution of a plugin object that this process holds.

    Args:
        folder: Where it goes; it must be on `sys.path` when the plugin is activated.
        plugin_id: Id of the plugin.
        plugin: What the test has made.
    """
    from pegboard.plugins.building.build import build_manifest

    package = f"pegboard_inline_{next(_NUMBERS)}"
    entry = f"{package}.plugin:plugin"
    _GIVEN[package] = plugin
    code = f"from pegboard.testing.inline import taken\n\nplugin = taken({package!r})\n"
    return make_dist(
        folder,
        f"inline-{plugin_id}",
        id=plugin_id,
        package=package,
        entry=entry,
        code=code,
        manifest=build_manifest(plugin_id, entry, plugin),
    )


def taken(package: str) -> Any:
    """Return the object for which a generated module asks."""
    return _GIVEN[package]


def forget(dist: Dist) -> None:
    """Let go of the object of a distribution."""
    _GIVEN.pop(dist.package, None)
