"""The parts of an answer, put together from the pieces that a stream sends."""

from __future__ import annotations

from typing import Any, Final

from pegboard.providers import repaired

_PLAIN: Final = frozenset({"text", "thought"})


class Parts:
    """What must come back unchanged: every part as it was, but pieces of one text joined.

    A part with a signature is never joined with another: the signature is of that part.
    """

    def __init__(self) -> None:
        self._all: list[dict[str, Any]] = []
        self._pieces: list[str] | None = None
        self._thought = False

    def __bool__(self) -> bool:
        return bool(self._all)

    def add(self, part: dict[str, Any]) -> None:
        """Add one part as it came."""
        text = part.get("text")
        if not isinstance(text, str) or (len(part) > 1 and not part.keys() <= _PLAIN):
            self._close()
            self._all.append(dict(part))
        elif text:
            thought = bool(part.get("thought"))
            if self._pieces is None or thought is not self._thought:
                self._close()
                self._all.append(dict(part))
                self._pieces, self._thought = [], thought
            self._pieces.append(text)

    def whole(self) -> list[dict[str, Any]]:
        """Return the parts."""
        self._close()
        return list(self._all)

    def _close(self) -> None:
        if self._pieces is not None:
            self._all[-1]["text"] = repaired("".join(self._pieces))
            self._pieces = None
