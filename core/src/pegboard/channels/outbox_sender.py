"""Send a reply that the store keeps: each part once, and never one that nobody wants any more."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import anyio

from pegboard.channels.chunking import split
from pegboard.contracts.channel import Channel, Delivery, DeliveryError, DeliveryFault
from pegboard.contracts.clock import Clock
from pegboard.contracts.message import OutboundMessage
from pegboard.contracts.store import Store
from pegboard.contracts.turn import Json, OutboxPart
from pegboard.contracts.wire import OUTBOUND

SEND_S: Final = 60.0
"""Seconds that a channel may take for one message; then nobody knows whether it was sent."""
RETRIES_S: Final = (1.0, 2.0, 4.0)
"""Seconds between the tries of one message."""
LONGEST_RETRY_S: Final = 30.0
"""What a channel may ask to wait at most; where it wants longer, the message is put off."""
_log = logging.getLogger(__name__)

Ending = Literal["sent", "stale", "failed", "in_doubt", "put_off"]


@dataclass(frozen=True, slots=True)
class Sending:
    """What became of a reply.

    Args:
        ending: `sent`; `stale` = nobody wants it any more; `failed` = it can't be delivered;
            `in_doubt` = part of it may or may not have been sent; `put_off` = try again later.
        reason: What the channel said of it.
        after_s: When it is put off: seconds to wait at least.
    """

    ending: Ending
    reason: str = ""
    after_s: float = 0.0


class OutboxSender:
    """Sends the parts of replies, and writes right before and after each that it does.

    Args:
        store: Where the replies are kept.
        clock: Time.
        read: Returns the message of a part.
    """

    def __init__(
        self, store: Store, clock: Clock, *, read: Callable[[Json], OutboundMessage] = OUTBOUND.read
    ) -> None:
        self._store = store
        self._clock = clock
        self._read = read

    async def send(
        self,
        fence: int,
        parts: Sequence[OutboxPart],
        channel: Channel,
        *,
        unsent: set[int] | None = None,
    ) -> Sending:
        """Send what was not sent of a reply, in order.

        A part found as being sent is one during which a host ended. It is sent again only where the
        channel deduplicates; else it is in doubt, and the parts after it follow.

        Args:
            fence: The attempt that sends.
            parts: The reply.
            channel: Where it goes.
            unsent: Places of parts that were tried and certainly not sent, though they are marked
                as being sent; kept up to date.

        Raises:
            StoreError: When that can't be written.
        """
        known = set() if unsent is None else unsent
        worst = Sending("sent")
        for part in parts:
            sending = await self._one(fence, part, channel, known)
            if sending.ending == "in_doubt":
                worst = sending
            elif sending.ending != "sent":
                return sending
        return worst

    async def _one(
        self, fence: int, part: OutboxPart, channel: Channel, unsent: set[int]
    ) -> Sending:
        if part.state in ("sent", "stale", "failed", "in_doubt"):
            return Sending(part.state)
        interrupted = part.state == "sending" and part.part not in unsent
        if interrupted and not channel.info.deduplicates:
            await self._store.doubt(part.turn, part.part, now=self._clock.now())
            return Sending("in_doubt", "the host ended while it was being sent")
        message = self._read(part.message)
        for pause in (*RETRIES_S, None):
            if not await self._store.sending(part.turn, fence, part.part, now=self._clock.now()):
                return Sending("stale")
            unsent.discard(part.part)
            fault = await self._try(part, message, channel)
            if fault is None:
                return Sending("sent")
            if fault.kind != "retry":
                return await self._given_up(part, fault)
            unsent.add(part.part)
            wait = max(pause or 0.0, fault.retry_after or 0.0)
            if pause is None or wait > LONGEST_RETRY_S:
                return Sending("put_off", fault.reason, wait)
            await self._clock.sleep(wait)
        raise AssertionError  # the last pause is None

    async def _try(
        self, part: OutboxPart, message: OutboundMessage, channel: Channel
    ) -> _Fault | None:
        """Send one message, and return why it was not sent."""
        try:
            with anyio.fail_after(SEND_S):
                delivery = await channel.send(message)
        except DeliveryError as error:
            fault = _Fault(error.kind, error.message, error.retry_after)
        except TimeoutError:
            fault = _Fault("unknown", f"the channel took longer than {SEND_S:g} s")
        except Exception as error:
            _log.info("a part of a reply was not delivered", exc_info=error)
            fault = _Fault("unknown", f"{type(error).__name__}: {error}")
        else:
            with anyio.CancelScope(shield=True):  # it is a fact now
                ids = external_ids(delivery)
                await self._store.sent(part.turn, part.part, ids, now=self._clock.now())
            return None
        if fault.kind == "unknown" and channel.info.deduplicates:
            return replace(fault, kind="retry")
        return fault

    async def _given_up(self, part: OutboxPart, fault: _Fault) -> Sending:
        if fault.kind == "gone":
            await self._store.give_up(part.turn, part.part, now=self._clock.now())
            return Sending("failed", fault.reason)
        await self._store.doubt(part.turn, part.part, now=self._clock.now())
        return Sending("in_doubt", fault.reason)


@dataclass(frozen=True, slots=True)
class _Fault:
    kind: DeliveryFault
    reason: str
    retry_after: float | None = None


def pieces(message: OutboundMessage, max_chars: int | None, turn: str) -> list[OutboundMessage]:
    """Return a reply as the messages that a channel takes; attachments go with the last.

    Args:
        message: The reply.
        max_chars: Longest message, or None.
        turn: Id of the turn, from which each message gets an id of its own.
    """
    texts = split(message.text, max_chars) or [""]
    last = len(texts) - 1
    return [
        replace(
            message,
            text=text,
            attachments=message.attachments if place == last else (),
            id=f"{turn}:{place}",
        )
        for place, text in enumerate(texts)
    ]


def external_ids(delivery: Delivery | None) -> tuple[str, ...]:
    """Return the ids in what a channel returned, whatever that is: the message has been sent."""
    ids = getattr(delivery, "external_ids", ())
    return tuple(str(item) for item in ids) if isinstance(ids, (tuple, list)) else ()
