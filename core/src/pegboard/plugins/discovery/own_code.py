"""Which files are an author's own, what to call them, and whether they changed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from pegboard.plugins.discovery.manifest_place import package_folder
from pegboard.plugins.discovery.origin import origin_of
from pegboard.plugins.discovery.scan import FoundPlugin

_SITES: Final = ("site-packages", "dist-packages")
_CODE: Final = (".py", "plugin.json", ".so", ".pyd")
"""How names end. Other data may be what a plugin writes itself: it would be tried at each start."""
_MOST_FILES: Final = 2_000
"""A package with more is judged by the first so many."""


def own_folders(found: FoundPlugin) -> tuple[str, ...]:
    """Return the folders whose code its author wrote: the package, and an editable project."""
    top = _package(found, found.value.partition(":")[0].partition(".")[0])
    folders = [_package(found)]
    if os.path.isfile(f"{top}{os.sep}__init__.py"):  # noqa: PTH113 - else others share it
        folders.append(top)
    origin = origin_of(found)
    if origin.kind == "editable":
        folders.append(origin.place)
    real = [os.path.realpath(folder) for folder in folders if folder]
    return tuple(dict.fromkeys([*filter(None, folders), *real]))


def is_own(file: str, folders: Sequence[str]) -> bool:
    """Say whether a file lies below one of these folders, and not in an environment inside one."""
    for folder in folders:
        if file.startswith(folder + os.sep):
            inner = file[len(folder) :].split(os.sep)  # noqa: PTH206
            return not any(name in _SITES for name in inner)
    return False


def entry_file(found: FoundPlugin) -> str:
    """Return the file of the module that the entry point names, or "" when it can't be told."""
    folder = _package(found)
    if not folder:
        return ""
    last = found.value.partition(":")[0].rpartition(".")[2]
    inner = os.path.join(folder, last)  # noqa: PTH118
    for file in (f"{inner}.py", f"{folder}{os.sep}__init__.py"):
        if os.path.isfile(file):  # noqa: PTH113
            return file
    return ""


def function_place(found: FoundPlugin, name: str) -> tuple[str, int] | None:
    """Return file and line of the one function of this name, or None when there is not just one.

    Nothing is imported: the function may be what ends a process.
    """
    pattern = re.compile(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(name)}\b", re.MULTILINE)
    places: list[tuple[str, int]] = []
    for file in islice(_files(_package(found)), _MOST_FILES):
        try:
            with open(file, encoding="utf-8") as opened:  # noqa: PTH123
                text = opened.read() if file.endswith(".py") else ""
        except (OSError, ValueError):
            continue
        lines = (text.count("\n", 0, begin.start()) + 1 for begin in pattern.finditer(text))
        places.extend((file, line) for line in lines)
    return places[0] if len(places) == 1 else None


def shown_file(file: str) -> str:
    """Return a file relative to the current folder, or to the home, where that is shorter."""
    names = [file]
    try:
        here = os.getcwd()  # noqa: PTH109
    except OSError:
        here = ""
    if here and file.startswith(here + os.sep):
        names.append(file[len(here) + 1 :])
    elif file == here:
        names.append(".")
    home = os.path.expanduser("~")  # noqa: PTH111
    if len(home) > 1 and file.startswith(home + os.sep):
        names.append("~" + file[len(home) :])
    return min(names, key=len)


def code_stamp(found: FoundPlugin) -> str:
    """Return a text that is another one when the distribution, or its author's code, changed."""
    times = [_time(os.path.join(found.folder, name)) for name in ("RECORD", "entry_points.txt")]  # noqa: PTH118
    count = 0
    for count, file in enumerate(_files(_package(found)), 1):
        times.append(_time(file))
        if count == _MOST_FILES:
            break
    return f"{found.value} {count} {sum(times)}"


def _package(found: FoundPlugin, value: str = "") -> str:
    """Return the folder of a package: beside the metadata, or where `import` finds it."""
    for path in ([os.path.dirname(found.folder)], None):  # noqa: PTH120
        try:
            return package_folder(value or found.value, path) or ""
        except Exception:  # an import hook of somebody else, or no such module
            continue
    return ""


def _files(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder) if folder else ():
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            if name.endswith(_CODE):
                yield os.path.join(parent, name)  # noqa: PTH118


def _time(file: str) -> int:
    try:
        return os.stat(file).st_mtime_ns  # noqa: PTH116
    except OSError:
        return 0
