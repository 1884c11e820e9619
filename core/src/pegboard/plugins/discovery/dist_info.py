"""The files that describe an installed distribution: `entry_points.txt` and `METADATA`.

They are read by line and with as few system calls as can be: every command that lists plugins reads
the first of all distributions and the second of all plugins.
"""

from __future__ import annotations

import os
from typing import Any, Final, NamedTuple

GROUP: Final = "pegboard.plugins"
_CHUNK: Final = 8192


class Metadata(NamedTuple):
    """What the head of a METADATA file says; `problem` is "" when nothing is wrong with it."""

    name: str
    version: str
    requires: tuple[str, ...] = ()
    problem: str = ""


class EntryPoints(NamedTuple):
    """The entry points of one group: name -> value, and what is wrong with other lines, or ""."""

    values: dict[str, str]
    problem: str = ""


def normalized(name: str) -> str:
    """Return a distribution's name in the one spelling under which names are compared."""
    plain = name.lower().replace("-", "_").replace(".", "_")
    while "__" in plain:
        plain = plain.replace("__", "_")
    return plain


def read_metadata(text: str, folder: str) -> Metadata:
    """Read the headers that matter; `folder` is `name-version.dist-info`, for what they lack."""
    name, version, requires = "", "", []
    for line in _unfolded(text):
        if line.startswith("Requires-Dist:"):
            requires.append(line[14:].strip())
        elif line.startswith("Name:"):
            name = name or line[5:].strip()
        elif line.startswith("Version:"):
            version = version or line[8:].strip()
    broken = [
        key
        for key, value in (("Name", name), ("Version", version))
        if not value or "\ufffd" in value
    ]
    guess, _, rest = folder.rpartition(".")[0].partition("-")
    return Metadata(
        name or guess.replace("_", "-"),
        version or rest,
        tuple(requires),
        f"its METADATA has no readable {' and '.join(broken)}" if broken else "",
    )


def read_entry_points(text: str, group: str = GROUP) -> EntryPoints:
    """Read one group of an `entry_points.txt`."""
    values: dict[str, str] = {}
    problem, section = "", ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] == "#":
            continue
        if line[0] == "[" and line[-1] == "]":
            section = line[1:-1].strip()
        elif section == group:
            name, _, value = line.partition("=")
            name, value = name.strip(), value.strip()
            if name and value:
                values[name] = value.partition("[")[0].strip()
            else:
                problem = f"line {number} of its entry_points.txt is not `name = module:object`"
    return EntryPoints(values, problem)


def read_sections(text: str) -> dict[str, dict[str, str]]:
    """Read all groups of an `entry_points.txt`; lines that can't be read are left out."""
    heads = (line.strip() for line in text.splitlines())
    groups = [head[1:-1].strip() for head in heads if head[:1] == "[" and head[-1:] == "]"]
    return {group: read_entry_points(text, group).values for group in groups}


class DistInfo:
    """The metadata folder of one distribution.

    Args:
        parent: The entry of the path that it is in.
        name: Its own name, e.g. `pegboard_web-0.1.0.dist-info`.
    """

    __slots__ = ("folder", "name")

    def __init__(self, parent: str, name: str) -> None:
        self.folder = f"{parent}{os.sep}{name}" if parent else name
        self.name = name

    def read(self, file: str, *, head: bool = False) -> tuple[str, str]:
        """Return text and problem of a file; one that is not there is "" without a problem.

        Args:
            file: Its name.
            head: Stop at the first empty line: a long description follows the headers.
        """
        try:
            data = read_bytes(f"{self.folder}{os.sep}{file}", head=head)
        except (FileNotFoundError, NotADirectoryError):
            return "", ""
        except OSError as error:
            return "", f"its {file} can't be read ({error.strerror})"
        text = data.decode("utf-8", "replace")
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        if head:
            return text.partition("\n\n")[0], ""
        return text, f"its {file} is not UTF-8" if "\ufffd" in text else ""

    def metadata(self) -> Metadata:
        """Read the head of METADATA, or of an egg's PKG-INFO."""
        egg = self.name.lower().endswith(".egg-info")
        file = "PKG-INFO" if egg else "METADATA"
        text, problem = self.read(file, head=True)
        found = read_metadata(text, self.name)
        if egg and not found.requires:
            found = found._replace(requires=_egg_requires(self.read("requires.txt")[0]))
        if not text and not problem:
            problem = f"its {file} is missing or empty"
        return found._replace(problem=problem) if problem else found


class ForeignDistInfo(DistInfo):
    """The same for a distribution inside a zip or egg, which importlib.metadata opens."""

    __slots__ = ("_dist",)

    def __init__(self, parent: str, dist: Any) -> None:
        super().__init__("", f"{dist.name}-{dist.version}.dist-info")
        self.folder = parent
        self._dist = dist

    def read(self, file: str, *, head: bool = False) -> tuple[str, str]:
        """Return text and problem of a file; one that is not there is "" without a problem."""
        text = str(self._dist.read_text(file) or "")
        return (text.partition("\n\n")[0] if head else text), ""


def read_bytes(file: str, *, head: bool = False) -> bytes:
    """Return a file's bytes, or with `head` at least those before its first empty line.

    A third of the time that `open(file, "rb").read()` takes.

    Raises:
        OSError: When it can't be read.
    """
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        data = chunk = os.read(descriptor, _CHUNK)
        while chunk and not (head and b"\n\n" in data):
            chunk = os.read(descriptor, _CHUNK)
            data += chunk
        return data
    finally:
        os.close(descriptor)


def _unfolded(text: str) -> list[str]:
    """Return header lines, each with the lines that continue it."""
    lines = text.splitlines()
    if "\n " not in text and "\n\t" not in text:
        return lines
    whole: list[str] = []
    for line in lines:
        if line[:1] in (" ", "\t") and whole:
            whole[-1] += line
        else:
            whole.append(line)
    return whole


def _egg_requires(text: str) -> tuple[str, ...]:
    """Return the unconditional requirements of an egg's `requires.txt` (before any section)."""
    lines = (line.strip() for line in text.partition("[")[0].splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))
