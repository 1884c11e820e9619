"""Places where the host can be made to die, to test that nothing is lost there.

`PEGBOARD_CRASH="record:before:2"` kills the process, as `kill -9` does, when the store's verb
`record` is about to be called for the second time. `during` is after the verb has done its work and
before that is committed; `after` is when it is on the disk and nobody was told yet.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from pegboard.contracts.errors import UsageError

VARIABLE: Final = "PEGBOARD_CRASH"
When = Literal["before", "during", "after"]


class CrashPoint(NamedTuple):
    """Where to die.

    Args:
        verb: Name of the store's verb, or `migrate`.
        when: At which moment of it.
        times: The how manieth time, from 1.
    """

    verb: str
    when: str
    times: int


def read(environment: Mapping[str, str]) -> CrashPoint | None:
    """Return the point that the environment names, or None.

    Raises:
        UsageError: When it is written wrongly: a test that never crashes would prove nothing.
    """
    text = environment.get(VARIABLE)
    if not text:
        return None
    verb, _, rest = text.partition(":")
    when, _, count = rest.partition(":")
    if not verb or when not in ("before", "during", "after") or not (count or "1").isdecimal():
        raise UsageError(
            f"{VARIABLE}={text} names no crash point.", fix=f"{VARIABLE}=record:before:2"
        )
    return CrashPoint(verb, when, int(count or 1))


_POINT: Final = read(os.environ)
_times: Final = itertools.count(1)


def reached(verb: str, when: When) -> None:
    """Die here if the environment says so; otherwise return at once."""
    if _POINT is None:
        return
    if (verb, when) == _POINT[:2] and next(_times) == _POINT.times:
        os.kill(os.getpid(), signal.SIGKILL)
