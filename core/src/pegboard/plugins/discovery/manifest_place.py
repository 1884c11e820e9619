"""Where the manifest of a plugin lies: in the package that its entry point names."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pegboard.plugins.discovery.scan import PathListing

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME: Final = "plugin.json"


def place(
    value: str, path: Sequence[str] | None = None, *, listing: PathListing | None = None
) -> Path | None:
    """Return where the manifest of an entry point belongs, whether or not it is there.

    Imports nothing: only the top-level name is looked up (looking up a dotted name would import its
    parents), the rest is joined as a path.

    Args:
        value: The entry point, `module:object`.
        path: Folders to look in; None = as `import` would.
        listing: The names in those folders, when somebody has listed them.

    Returns:
        The path, or None when the module is a single file, which has no place for a manifest.

    Raises:
        ModuleNotFoundError: When there is no such top-level module.
    """
    from pathlib import Path

    folder = package_folder(value, path, listing=listing)
    return None if folder is None else Path(folder, FILE_NAME)


def locate(value: str, path: Sequence[str] | None = None) -> Path | None:
    """Return the manifest of an entry point, or None when there is none.

    Raises:
        ModuleNotFoundError: When there is no such top-level module.
    """
    file = place(value, path)
    return file if file is not None and file.exists() else None


def package_folder(
    value: str, path: Sequence[str] | None = None, *, listing: PathListing | None = None
) -> str | None:
    """Return the folder of the deepest package that an entry point's module is in, or is.

    Raises:
        ModuleNotFoundError: When there is no such top-level module.
    """
    top, *rest = value.partition(":")[0].split(".")
    known = listing.package(top) if listing is not None else None
    folders = [known] if known is not None else _folders(top, path)
    for depth in range(len(rest), 0, -1):
        for folder in folders:
            inner = os.path.join(folder, *rest[:depth])  # noqa: PTH118 - once for every plugin
            if os.path.isdir(inner):  # noqa: PTH112
                return inner
    return folders[0] if folders else None


def _folders(top: str, path: Sequence[str] | None) -> list[str]:
    """Ask the import system for a top-level package; a module that is a single file has none."""
    if path is None:
        loaded = getattr(sys.modules.get(top), "__path__", None)
        if loaded is not None:
            return list(loaded)
        finders = [finder.find_spec for finder in sys.meta_path if hasattr(finder, "find_spec")]
        specs = (find(top, None) for find in finders)
        spec = next((spec for spec in specs if spec is not None), None)
    else:
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(top, path)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {top!r}", name=top)
    return list(spec.submodule_search_locations or ())
