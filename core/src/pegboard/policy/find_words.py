"""What the words of a `find` command say: where it begins, what it takes, what it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile, pairwise, takewhile
from typing import Final

_OPTION: Final = re.compile(r"--|-[EHLPXdsx]+|-[DO]\S*")
_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_NAMES: Final = frozenset({"-name", "-iname"})
_OTHERWISE: Final = frozenset({"!", "-not", "-o", "-or", ","})
_ANY: Final = re.compile(r"\[[^\]]*\]?|\W|_")
"""Pieces of a pattern that say little of a name."""


def starts(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the folders in which it begins."""
    rest = dropwhile(_OPTION.fullmatch, arguments)
    return takewhile(lambda item: not item.startswith("-"), rest)


def ran(arguments: Sequence[str]) -> Iterator[str]:
    """Yield what it runs, and all that stands behind that."""
    return dropwhile(lambda item: item not in _RUNS, arguments)


def takes_some_names(arguments: Sequence[str]) -> bool:
    """Tell whether it takes files of certain names only, before it does anything with them."""
    tests = [*takewhile(lambda item: item != "-delete" and item not in _RUNS, arguments)]
    if not _OTHERWISE.isdisjoint(tests):
        return False
    pairs = pairwise(tests)
    return any(option in _NAMES and _ANY.sub("", pattern) for option, pattern in pairs)
