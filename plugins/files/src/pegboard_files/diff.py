"""The difference of two texts as a unified diff, for a UI."""

from __future__ import annotations

import difflib
from typing import Final

_CONTEXT: Final = 3
_MAX_LINES: Final = 3000
_MAX_CHARS: Final = 100_000
_NO_END: Final = "\\ No newline at end of file"


def unified_diff(path: str, before: str, after: str) -> str | None:
    """Return the difference, or None when it is too large to be shown.

    Args:
        path: Name in the header.
        before: Old text; "" = the file is new.
        after: New text.
    """
    old, new = _lines(before), _lines(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    start = max(0, head - _CONTEXT)
    old_part = old[start : len(old) - tail + _CONTEXT if tail else len(old)]
    new_part = new[start : len(new) - tail + _CONTEXT if tail else len(new)]
    if len(old_part) + len(new_part) > _MAX_LINES:
        return None
    out = [f"--- {path if before else '/dev/null'}", f"+++ {path}"]
    matcher = difflib.SequenceMatcher(None, old_part, new_part, autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        out.extend(_hunk(group, old_part, new_part, start))
    text = "\n".join(out) + "\n"
    return text if len(text) <= _MAX_CHARS else None


def _hunk(
    group: list[tuple[str, int, int, int, int]], old: list[str], new: list[str], start: int
) -> list[str]:
    (_, old_from, _, new_from, _), (_, _, old_to, _, new_to) = group[0], group[-1]
    out = [f"@@ -{_range(start, old_from, old_to)} +{_range(start, new_from, new_to)} @@"]
    for tag, old_at, old_end, new_at, new_end in group:
        if tag == "equal":
            out.extend(_marked(" ", old[old_at:old_end]))
            continue
        out.extend(_marked("-", old[old_at:old_end]))
        out.extend(_marked("+", new[new_at:new_end]))
    return out


def _marked(mark: str, lines: list[str]) -> list[str]:
    out: list[str] = []
    for line in lines:
        out.append(mark + line.removesuffix("\n"))
        if not line.endswith("\n"):
            out.append(_NO_END)
    return out


def _range(start: int, begin: int, end: int) -> str:
    length = end - begin
    first = start + begin + (1 if length else 0)
    return str(first) if length == 1 else f"{first},{length}"


def _lines(text: str) -> list[str]:
    pieces = text.split("\n")
    lines = [piece + "\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _common(one: list[str], other: list[str]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
