"""Unique ids that sort by the time they were made."""

from __future__ import annotations

import base64
import itertools
import os
from typing import Final

from pegboard.contracts.clock import Clock

_COUNTS: Final = 1 << 16


class IdMaker:
    """Makes ids of 28 characters: 12 of the millisecond, 4 of a counter, 12 at random."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counter = itertools.count()

    def __call__(self) -> str:
        """Return a new id."""
        milliseconds = int(self._clock.now() * 1000)
        return f"{milliseconds:012x}{next(self._counter) % _COUNTS:04x}{os.urandom(6).hex()}"


def new_token() -> str:
    """Return a word of 8 characters, 40 bits at random, that a person can type."""
    return base64.b32encode(os.urandom(5)).decode("ascii").lower()
