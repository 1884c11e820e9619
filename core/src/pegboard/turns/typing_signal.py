"""Show at the other end of a channel that an answer is on its way."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from pegboard.contracts.channel import Channel
from pegboard.contracts.clock import Clock
from pegboard.plugins.building.isolation import one_line

EVERY_S: Final = 4.0
LONGEST_S: Final = 300.0
"""A turn that takes longer is no longer announced: nobody looks at the screen for so long."""
_log = logging.getLogger(__name__)

Typing = Callable[[str], Awaitable[None]]


def typing_of(channel: Channel) -> Typing | None:
    """Return what shows it on a channel, or None where that is not possible."""
    found: Typing | None = getattr(channel, "typing", None)
    return found if callable(found) else None


async def keep_typing(typing: Typing, chat: str, clock: Clock) -> None:
    """Show it again and again until cancelled, for five minutes at most; never raises."""
    end = clock.monotonic() + LONGEST_S
    while clock.monotonic() < end:
        try:
            with anyio.move_on_after(EVERY_S):
                await typing(chat)
        except Exception as error:
            _log.info("a channel could not show that an answer is coming: %s", one_line(error))
            return
        await clock.sleep(EVERY_S)
