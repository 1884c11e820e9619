"""Notice an agent that makes the same calls again and again."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pegboard.contracts import json_text
from pegboard.contracts.message import ToolCall

WINDOW: Final = 15
WARN_AT: Final = 3
STOP_AT: Final = 5
LONGEST_CYCLE: Final = 3

Signature = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Repetition:
    """What was found in one step.

    Args:
        warnings: A sentence for the model, by id of the call that it goes with.
        stop: Why the run must end, or None.
    """

    warnings: dict[str, str]
    stop: str | None = None


class RepetitionGuard:
    """Watches the calls of a run in their order.

    A call seen three times among the last fifteen is warned about once; five in a row end the run.
    Cycles of two and three calls count by rounds, with the same numbers. A call that comes back
    between other work is healthy: it is warned about, never stopped.
    """

    def __init__(self) -> None:
        self._recent: deque[Signature] = deque(maxlen=WINDOW)
        self._warned: set[frozenset[Signature]] = set()

    def check(self, calls: Iterable[ToolCall]) -> Repetition:
        """Take the calls of a step, before they run."""
        warnings: dict[str, str] = {}
        for call in calls:
            self._recent.append(signature(call))
            rounds, cycle = self._rounds()
            if rounds >= STOP_AT:
                return Repetition(warnings, _stop_text(cycle, rounds))
            warning = self._warning(rounds, cycle)
            if warning:
                warnings[call.id] = warning
        return Repetition(warnings)

    def _rounds(self) -> tuple[int, tuple[Signature, ...]]:
        """Return how often the shortest cycle at the end was gone through, and the cycle."""
        recent = list(self._recent)
        best: tuple[int, tuple[Signature, ...]] = (1, (recent[-1],))
        for length in range(1, LONGEST_CYCLE + 1):
            cycle = recent[-length:]
            rounds = 1
            while recent[-length * (rounds + 1) : -length * rounds] == cycle:
                rounds += 1
            if rounds > best[0]:
                best = (rounds, tuple(cycle))
        return best

    def _warning(self, rounds: int, cycle: tuple[Signature, ...]) -> str:
        last = self._recent[-1]
        if len(cycle) > 1 and rounds >= WARN_AT:
            return self._once(frozenset(cycle), _cycle_text(cycle, rounds))
        count = self._recent.count(last)
        return self._once(frozenset((last,)), _call_text(last, count)) if count >= WARN_AT else ""

    def _once(self, key: frozenset[Signature], text: str) -> str:
        if key in self._warned:
            return ""
        self._warned.add(key)
        return text


def signature(call: ToolCall) -> Signature:
    """Return what makes calls the same: the name, and the arguments however they are written."""
    value = json_text.read_object(call.arguments)
    if value is None:
        return call.name, " ".join(call.arguments.split())
    return call.name, json.dumps(
        _plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )


def _plain(value: Any) -> Any:
    """Return `value` with 1.0 written as 1."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _shown(call: Signature) -> str:
    name, arguments = call
    return f"{name} with {arguments if len(arguments) <= 200 else arguments[:200] + '...'}"


def _call_text(call: Signature, count: int) -> str:
    return (
        f"Note from the host: you have now called {_shown(call)} {count} times. "
        "Do not call it again unless the arguments or your plan really change."
    )


def _cycle_text(cycle: tuple[Signature, ...], rounds: int) -> str:
    names = ", ".join(name for name, _ in cycle)
    return (
        f"Note from the host: you have gone through the same calls ({names}) {rounds} times. "
        "Do not go through them again unless the arguments or your plan really change."
    )


def _stop_text(cycle: tuple[Signature, ...], rounds: int) -> str:
    if len(cycle) == 1:
        return f"{_shown(cycle[0])} was called {rounds} times in a row"
    names = ", ".join(name for name, _ in cycle)
    return f"the calls {names} were repeated {rounds} times in a row"
