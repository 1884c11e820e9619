"""How much work one call may give away. Fixed: a model must not be able to talk its way past."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TIMEOUT_S: Final = 300.0
LEAST_TIMEOUT_S: Final = 5.0
MOST_TIMEOUT_S: Final = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """The bounds of one call.

    Args:
        tasks: Tasks at most.
        at_once: Workers that work at the same time, unless the call says otherwise.
        most_at_once: And at most.
        steps: Model calls of one worker at most.
        result_bytes: Bytes of all answers together.
    """

    tasks: int
    at_once: int
    most_at_once: int
    steps: int
    result_bytes: int

    @property
    def longest_s(self) -> float:
        """Seconds after which a call is surely over: its tasks one after the other, each late."""
        return self.tasks * MOST_TIMEOUT_S + 60.0

    @property
    def result_chars(self) -> int:
        """Characters that the result may have: all answers, and a frame around each."""
        return self.result_bytes + self.tasks * 1_000


USUAL: Final = Caps(tasks=10, at_once=4, most_at_once=8, steps=100, result_bytes=60_000)
ULTRA: Final = Caps(tasks=50, at_once=12, most_at_once=12, steps=40, result_bytes=300_000)
"""In the one turn that the owner began with `/ultra`: more workers, each with fewer steps."""
