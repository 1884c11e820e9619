"""Versions and version ranges, as far as plugins use them (a part of PEP 440).

`packaging` does all of it, and costs more to import than everything that boot reads.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

# Patterns are compiled when first needed (`re` keeps them): most versions are `1.2.3`.
_VERSION: Final = (
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?P<pre_n>\d*))?"
    r"(?P<post>-(?P<post_short>\d+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_n>\d*))?"
    r"(?P<dev>[-_.]?dev[-_.]?(?P<dev_n>\d*))?"
    r"(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?\Z"
)
_OPERATORS: Final = ("===", "~=", "==", "!=", "<=", ">=", "<", ">")
_REQUIREMENT: Final = r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;@)]*)"
_PRE: Final = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_FINAL: Final = (3, 0)
_NO_DEV: Final = float("inf")

Key = tuple[int, tuple[int, ...], tuple[int, int], int, float]


class Requirement(NamedTuple):
    """One `Requires-Dist` line: name, version range, and the condition after `;`, or ""."""

    name: str
    range: str
    marker: str


@lru_cache(maxsize=256)
def satisfies(version: str, wanted: str) -> bool:
    """Say whether a version lies in a range such as `>=1,<2`. An empty range holds them all.

    Pre-releases count like any version: the question is whether what is installed will do, not
    what to install.

    Raises:
        ValueError: When either can't be read.
    """
    key = version_key(version)
    clauses = [clause.strip() for clause in wanted.split(",")]
    return all(_holds(version, key, clause) for clause in clauses if clause)


def lowest(wanted: str) -> str | None:
    """Return the highest lower bound of a range, or None when it has none.

    Raises:
        ValueError: When the range can't be read.
    """
    bounds = []
    for clause in filter(None, (part.strip() for part in wanted.split(","))):
        operator, version = _parts(clause)
        if operator in (">=", ">", "~=", "==", "==="):
            bounds.append(version.removesuffix(".*"))
    return max(bounds, key=version_key, default=None)


def version_key(version: str) -> Key:
    """Return a key by which versions sort; the local part (`+abc`) does not count.

    Raises:
        ValueError: When it is no version.
    """
    parts = version.split(".")
    if all(map(_is_number, parts)):
        return 0, _trimmed(parts), _FINAL, -1, _NO_DEV
    match = _matched(version)
    release = _trimmed(match["release"].split("."))
    dev = float(match["dev_n"] or 0) if match["dev"] else _NO_DEV
    post = int(match["post_n"] or match["post_short"] or 0) if match["post"] else -1
    if match["pre"]:
        pre = (_PRE[match["pre"].lower()], int(match["pre_n"] or 0))
    else:
        # `1.dev1` comes before `1a1`, which comes before `1`.
        pre = (-1, 0) if match["dev"] and not match["post"] else _FINAL
    return int(match["epoch"] or 0), release, pre, post, dev


def read_requirement(line: str) -> Requirement:
    """Split a `Requires-Dist` line.

    Raises:
        ValueError: When it has no name.
    """
    head, _, marker = line.partition(";")
    match = re.match(_REQUIREMENT, head.strip())
    if match is None:
        raise ValueError(f"{line!r} names no distribution")
    return Requirement(match[1], match[2].strip(), marker.strip())


def _parts(clause: str) -> tuple[str, str]:
    for operator in _OPERATORS:
        if clause.startswith(operator):
            version = clause[len(operator) :].strip()
            if version and " " not in version:
                return operator, version
    raise ValueError(f"{clause!r} is no version range; write for example '>=1,<2'")


def _is_number(part: str) -> bool:
    return part.isascii() and part.isdigit()


def _trimmed(parts: list[str]) -> tuple[int, ...]:
    """Return the numbers of a release without zeros at the end: `1.0` is `1`."""
    release = [int(part) for part in parts]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    return tuple(release)


def _matched(version: str) -> re.Match[str]:
    match = re.match(_VERSION, version.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError(f"{version!r} is no version")
    return match


def _holds(version: str, key: Key, clause: str) -> bool:
    operator, bound = _parts(clause)
    if operator == "===":
        return version.strip().lower() == bound.lower()
    if bound.endswith(".*"):
        if operator not in ("==", "!="):
            raise ValueError(f"{clause!r}: `.*` goes with == and != only")
        return _in_series(key, bound[:-2], 0) == (operator == "==")
    if operator == "~=":
        return key >= version_key(bound) and _in_series(key, bound, 1)
    return _compare(operator, key, version_key(bound))


def _compare(operator: str, key: Key, other: Key) -> bool:
    if operator in ("==", "!="):
        return (key == other) == (operator == "==")
    if operator == ">=":
        return key >= other
    if operator == "<=":
        return key <= other
    final = other[2] == _FINAL and other[4] == _NO_DEV
    if operator == "<":
        # `<2` leaves out the pre-releases of 2, unless the bound is a pre-release itself.
        first = (*other[:2], (-1, 0) if other[3] < 0 else other[2], other[3], 0.0)
        return key < (first if final else other)
    # `>2` leaves out the post-releases of 2, unless the bound is a post-release itself.
    return key > other and not (key[:3] == other[:3] and key[3] >= 0 > other[3])


def _in_series(key: Key, version: str, drop: int) -> bool:
    """Say whether a version begins with the release of another, less its last `drop` parts."""
    match = _matched(version)
    series = [int(part) for part in match["release"].split(".")]
    if len(series) <= drop:
        raise ValueError(f"~={version}: write at least two parts, as in ~=1.0")
    series = series[: len(series) - drop]
    release = [*key[1], *[0] * len(series)]
    return key[0] == int(match["epoch"] or 0) and release[: len(series)] == series


def read_name(requirement: str) -> str:
    """Return the distribution that a `Requires-Dist` line names, or "" when it names none."""
    try:
        return read_requirement(requirement).name
    except ValueError:
        return ""
