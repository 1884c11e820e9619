"""The name that somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, options: Iterable[str]) -> str | None:
    """Return the option most like `word`, or None when none is close."""
    import difflib

    folded = {option.lower().replace("_", "-"): option for option in sorted(options, reverse=True)}
    found = difflib.get_close_matches(word.lower().replace("_", "-"), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """Return `"; did you mean 'x'?"` for the end of a message, or "" when nothing is close."""
    found = nearest(word, options)
    return f"; did you mean {found!r}?" if found else ""
