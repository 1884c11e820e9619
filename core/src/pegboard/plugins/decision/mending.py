"""What mends a broken plugin: its author edits a line, everybody else takes another version."""

from __future__ import annotations

import os
import re
import shlex
from typing import Final

from pegboard.plugins.decision.failures import Failure
from pegboard.plugins.discovery.origin import Origin, origin_of
from pegboard.plugins.discovery.own_code import (
    entry_file,
    function_place,
    is_own,
    own_folders,
    shown_file,
)
from pegboard.plugins.discovery.scan import FoundPlugin, normalized
from pegboard.plugins.discovery.versions import read_name

_MISSING_MODULE: Final = r"ModuleNotFoundError: No module named '([\w.]+)'"
_PLACE: Final = r'File "([^"\n]+)", line (\d+)'
_ROOTS: Final = ("src", "")
"""Where the package of a project lies in it."""


def failure_fix(found: FoundPlugin, failure: Failure) -> str:
    """Return what is most likely to mend a failed activation; an author is told where."""
    if failure.fix:
        place = author_place(found, failure.traceback) if is_authored(found) else ""
        return f"mend {place}: {failure.fix}" if place else failure.fix
    missing = re.search(_MISSING_MODULE, failure.traceback)
    if missing is None:
        return mend_code(found, failure.traceback)
    top = missing[1].partition(".")[0]
    if top == found.value.partition(".")[0].partition(":")[0]:
        return mend_code(found, failure.traceback) if is_authored(found) else reinstall(found)
    declared = {normalized(read_name(line)) for line in found.requires}
    if normalized(top) in declared or not declared:
        return requirements_fix(found)
    return f"pip install {top.replace('_', '-')}"


def mend_code(found: FoundPlugin, traceback: str = "", *, again: str = "") -> str:
    """Return what mends code that is wrong.

    Args:
        found: The plugin.
        traceback: Text that names the places where its code stood; "" = its module as a whole.
        again: What an author does after the edit; "" = `pegboard plugins check ID`.
    """
    origin = origin_of(found)
    if origin.kind not in ("editable", "folder"):
        return another_version(found, origin)
    place = author_place(found, traceback) or shown_file(entry_file(found) or origin.place)
    if origin.kind == "folder":
        return f"mend {_in_source(place, origin)}, then `{reinstall(found)}`"
    return f"mend {place}, then `{again or f'pegboard plugins check {found.id}'}`"


def mend_tool(found: FoundPlugin, tool: str) -> str:
    """Return what mends a tool of an author that ended its process: no traceback names its place.

    Args:
        found: The plugin.
        tool: Short name of the tool, which is that of its function unless it was given another.
    """
    place = function_place(found, tool)
    return mend_code(found, f'File "{place[0]}", line {place[1]}' if place else "")


def crash_fix(found: FoundPlugin) -> str:
    """Return what mends a plugin whose import ended the process; nothing says at which line."""
    enable = f"pegboard plugins enable {found.id}"
    if is_authored(found):
        return f"{mend_code(found)}; to try it as it is: `{enable}`"
    return f"{another_version(found)}; to try this version again: `{enable}`"


def mend_manifest(found: FoundPlugin) -> str:
    """Return what mends a plugin.json that is wrong; an author's is written from the code."""
    if origin_of(found).kind == "editable":
        return f"pegboard plugins build {found.id}"
    return reinstall(found)


def mend_project(found: FoundPlugin, what: str, otherwise: str) -> str:
    """Return what mends a line of an author's pyproject.toml; for all others `otherwise`.

    Args:
        found: The plugin.
        what: What is wrong in it, e.g. `the entry point`.
        otherwise: What mends a distribution that is somebody else's.
    """
    origin = origin_of(found)
    if origin.kind not in ("editable", "folder"):
        return otherwise
    file = shown_file(os.path.join(origin.place, "pyproject.toml"))  # noqa: PTH118
    return f"mend {what} in {file}, then `{reinstall(found)}`"


def another_version(found: FoundPlugin, origin: Origin | None = None) -> str:
    """Return the command that installs another version of a distribution."""
    origin = origin or origin_of(found)
    if origin.kind == "repository":
        return f"pip install --upgrade {shlex.quote(origin.place)}"
    if origin.kind == "file":
        where = os.path.basename(origin.place)  # noqa: PTH119
        return f"ask who ships {found.dist} for another file than {where}, and pip install that"
    return f"pip install --upgrade {found.dist}"


def reinstall(found: FoundPlugin) -> str:
    """Return the command that installs the same distribution again, from where it came."""
    origin = origin_of(found)
    if origin.kind == "editable":
        return f"pip install --no-deps --editable {_word(origin.place)}"
    return f"pip install --force-reinstall --no-deps {_same(found, origin)}"


def requirements_fix(found: FoundPlugin) -> str:
    """Return the command that installs what a distribution requires and is not there."""
    origin = origin_of(found)
    if origin.kind == "editable":
        return f"pip install --editable {_word(origin.place)}"
    return f"pip install {_same(found, origin)}"


def uninstall(found: FoundPlugin) -> str:
    """Return the command that removes a distribution."""
    return f"pip uninstall {found.dist}"


def is_authored(found: FoundPlugin) -> bool:
    """Say whether a distribution comes from a source folder of this machine."""
    return origin_of(found).kind in ("editable", "folder")


def author_place(found: FoundPlugin, traceback: str) -> str:
    """Return `FILE:LINE` of the last line of the author's own code in a traceback, or "".

    A syntax error names its file and line in the same form as a frame does.
    """
    places = re.findall(_PLACE, traceback)
    folders = own_folders(found) if places else ()
    own = [(file, line) for file, line in places if is_own(file, folders)]
    return f"{shown_file(own[-1][0])}:{own[-1][1]}" if own else ""


def _same(found: FoundPlugin, origin: Origin) -> str:
    """Return what pip takes to install the same distribution from where it came."""
    if origin.kind == "index":
        return found.dist
    return _word(origin.place) if os.path.isabs(origin.place) else shlex.quote(origin.place)  # noqa: PTH117


def _word(path: str) -> str:
    """Return a path as a word of a command line; to pip a bare word is a package of the index."""
    shown = shown_file(path)
    if shown.startswith("~/"):
        return f"~/{shlex.quote(shown[2:])}"
    return shlex.quote(shown if shown.startswith((".", os.sep)) else f".{os.sep}{shown}")


def _in_source(place: str, origin: Origin) -> str:
    """Return the place in the folder that an installed copy was made from, where it is found."""
    for name in ("site-packages", "dist-packages"):
        inner = place.rpartition(f"{name}{os.sep}")[2]
        file, colon, line = inner.rpartition(":") if inner[-1:].isdigit() else (inner, "", "")
        for root in _ROOTS:
            source = os.path.join(origin.place, root, file)  # noqa: PTH118
            if os.path.isfile(source):  # noqa: PTH113
                return f"{shown_file(source)}{colon}{line}"
    return place
