"""One attempt of a turn that the store has begun: answered, delivered, kept."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

import anyio
import anyio.lowlevel

from pegboard.channels.outbox_sender import Sending, pieces
from pegboard.contracts.approval import Suspended
from pegboard.contracts.channel import Channel
from pegboard.contracts.engine import After, Later, Outcome
from pegboard.contracts.errors import StoreError
from pegboard.contracts.message import OutboundMessage
from pegboard.contracts.store import FencedError
from pegboard.contracts.stream import Noticed
from pegboard.contracts.turn import Begun, OutboxPart
from pegboard.contracts.wire import MESSAGE, WireError
from pegboard.turns import doubt
from pegboard.turns.conclusion import Conclusion, conclusion_of, reply_forms
from pegboard.turns.live import LiveTurn
from pegboard.turns.run import TurnRun
from pegboard.turns.setup import TurnServices
from pegboard.turns.typing_signal import keep_typing, typing_of

FINISH_S: Final = 5.0
"""How long a turn that is over may take to tell everybody so."""
LOOK_S: Final = 2.0
"""Seconds between two looks whether somebody at another host asked to stop the turn."""
PUT_OFF_S: Final = 3600.0
"""How long a reply that a channel can't take now is tried again."""
_SHORTEST_PAUSE_S: Final = 15.0
_LONGEST_PAUSE_S: Final = 300.0
_log = logging.getLogger(__name__)


class Doorbell:
    """Rung from anywhere, also before anybody listens."""

    def __init__(self) -> None:
        self._rung = anyio.Event()

    def ring(self) -> None:
        """Ring it."""
        self._rung.set()

    async def wait(self) -> None:
        """Wait until it has been rung since this was last called."""
        await self._rung.wait()
        self._rung = anyio.Event()


class Attempt:
    """Runs one attempt of a turn to its end, or to where it must wait.

    Args:
        run: The turn, ready to be answered.
        begun: What the store knows of it.
        channel: Where its reply goes.
        live: What this process holds of it.
        services: What all turns share.
        conclude: Answers it.

    Attributes:
        ended: What the turn came to, once that is kept and everybody was told.
    """

    def __init__(
        self,
        run: TurnRun,
        begun: Begun,
        channel: Channel,
        live: LiveTurn,
        services: TurnServices,
        *,
        conclude: Callable[[TurnRun], Awaitable[Conclusion]],
    ) -> None:
        self.ended: Conclusion | None = None
        self._run = run
        self._begun = begun
        self._record = begun.turn
        self._channel = channel
        self._live = live
        self._services = services
        self._conclude = conclude
        self._concluded: Conclusion | None = None
        self._later: Later | None = None

    async def run(self, bell: Doorbell, *, handing_on: Callable[[], bool]) -> Outcome:
        """Run it.

        Args:
            bell: Rung when somebody may want it to stop.
            handing_on: Tells, when this host is made to end, whether the turn is handed on to the
                next one rather than stopped.

        Raises:
            StoreError: When the store can't be written; the turn was handed back.
        """
        live = self._live
        live.scope = anyio.CancelScope()
        stopped = self._record.cancel_asked or live.given_up
        try:
            if not stopped:  # else nothing is begun that would have to be cancelled at once
                with live.scope as scope:
                    await self._within(scope, bell)
            return self._later or await self._end()
        except FencedError:
            return After.FENCED
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._cut_off(hand_on=handing_on())
            raise
        except WireError:
            raise
        except StoreError:
            with anyio.CancelScope(shield=True):
                await self._hand_back()
            raise
        except Exception:
            crashed = self._run.crashed()
            if self.ended is None:
                await self._close(crashed)
            return After.DONE
        finally:
            live.scope = None

    async def compact(self) -> None:
        """Make the conversation shorter if need be, now that nobody waits for the reply."""
        run, services = self._run, self._services
        if services.compactor is None or run.route is None:
            return
        if self.ended is None or self.ended.status == "cancelled":
            return
        key = run.turn.conversation
        made = await services.compactor.after(
            key,
            run.route,
            run.announcer.tell_later,
            on_attempt=run.observe_attempt,
            admit=run.admit,
        )
        if made:
            services.history.forget(key)

    async def _within(self, scope: anyio.CancelScope, bell: Doorbell) -> None:
        """Run the turn up to its delivered reply, beside it whatever watches it."""
        caught: Exception | None = None
        async with anyio.create_task_group() as beside:
            beside.start_soon(self._heed, scope, bell)
            typing = typing_of(self._channel)
            if typing is not None:
                chat = self._run.turn.message.chat
                beside.start_soon(keep_typing, typing, chat, self._services.clock)
            try:
                await self._through()
            except Exception as error:  # raised below as it is, not in a group
                caught = error
            beside.cancel_scope.cancel()
        if caught is not None:
            raise caught

    async def _heed(self, scope: anyio.CancelScope, bell: Doorbell) -> None:
        """Stop the attempt when somebody asked for it, or another attempt has begun."""
        record = self._record
        while True:
            with anyio.move_on_after(LOOK_S):
                await bell.wait()
            with suppress(StoreError):
                if await self._services.store.stopping(record.ref.turn, record.fence):
                    scope.cancel()
                    return

    async def _through(self) -> None:
        conclusion = conclusion_of(self._begun.outbox)
        parts = self._begun.outbox
        if conclusion is None:
            try:
                conclusion = await self._conclude(self._run)
            except Suspended as suspended:
                await self._wait(suspended.until)
                return
            conclusion, parts = await self._written(conclusion)
        if not parts:
            self._concluded = conclusion
            return
        await self._deliver(conclusion, parts)

    async def _written(self, conclusion: Conclusion) -> tuple[Conclusion, tuple[OutboxPart, ...]]:
        """Write the reply that a turn came to; from here on nothing changes it."""
        if not conclusion.text:
            return conclusion, ()
        run, record, store = self._run, self._record, self._services.store
        try:
            message = await run.announcer.outgoing(conclusion.text)
        except Exception:
            conclusion = run.crashed()
            message = run.turn.reply.message(conclusion.text)
        # a turn that was stopped meanwhile ends here and sends nothing
        await anyio.lowlevel.checkpoint()
        conclusion = replace(conclusion, text=message.text, at=self._services.clock.now())
        if not message.text.strip() and not message.attachments:
            return conclusion, ()
        doubtful = await self._with_doubt(message)
        messages = pieces(doubtful, self._channel.info.max_chars, record.ref.turn)
        forms = reply_forms(conclusion, messages)
        await store.reply(record.ref.turn, record.fence, forms, now=conclusion.at)
        if doubtful is not message:
            await store.doubtful(record.ref.key, settle=True)
        return conclusion, tuple(
            OutboxPart(turn=record.ref.turn, part=number, key=record.ref.key, message=form)
            for number, form in enumerate(forms)
        )

    async def _with_doubt(self, message: OutboundMessage) -> OutboundMessage:
        """Begin a reply with a line about earlier ones in doubt, where no event can tell of it."""
        if self._run.turn.reply.shows_events:
            return message
        parts = await self._services.store.doubtful(self._record.ref.key)
        if not parts:
            return message
        return replace(message, text=f"({doubt.sentence(parts)})\n\n{message.text}")

    async def _deliver(self, conclusion: Conclusion, parts: tuple[OutboxPart, ...]) -> None:
        if self._live.tried_since is None:
            self._live.tried_since = self._services.clock.monotonic()
        sending = await self._services.sender.send(
            self._record.fence, parts, self._channel, unsent=self._live.unsent
        )
        if sending.ending == "put_off":
            await self._put_off(conclusion, parts, sending)
        elif sending.ending == "stale":
            self._concluded = conclusion.stopped()
        elif sending.ending == "sent":
            self._concluded = conclusion
        else:
            channel = self._record.ref.channel
            _log.warning("channel %s did not deliver a reply: %s", channel, sending.reason)
            failed = sending.ending == "failed"
            self._concluded = (
                conclusion.undelivered(sending.reason)
                if failed
                else conclusion.doubted(sending.reason)
            )

    async def _put_off(
        self, conclusion: Conclusion, parts: tuple[OutboxPart, ...], sending: Sending
    ) -> None:
        """Let a reply wait that can't be delivered now; give it up after an hour."""
        clock, live = self._services.clock, self._live
        now, tried = clock.now(), clock.monotonic()
        # a clock that was set forward, or a machine that slept, is no hour of trying
        age = 0.0 if live.tried_since is None else tried - live.tried_since
        if age >= PUT_OFF_S:
            for part in parts:
                if part.part in self._live.unsent:  # marked as being sent, and certainly not sent
                    await self._services.store.give_up(part.turn, part.part, now=now)
            self._concluded = conclusion.undelivered(sending.reason)
            return
        pause = min(max(age, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S)
        await self._wait(now + max(pause, sending.after_s))

    async def _wait(self, until: float) -> None:
        record = self._record
        # not torn apart: a turn that waits must not be taken for one that was stopped
        with anyio.CancelScope(shield=True):
            waits = await self._services.store.wait(record.ref.turn, record.fence, until=until)
            self._later = Later(until if waits else self._services.clock.now())

    async def _end(self) -> After:
        concluded = self._concluded or await self._stopped()
        await self._close(concluded)
        return After.DONE

    async def _stopped(self) -> Conclusion:
        with anyio.CancelScope(shield=True):
            stopped = await self._run.stopped()
        self._concluded = stopped
        return stopped

    async def _close(self, conclusion: Conclusion) -> None:
        """Keep the turn, then tell everybody that it is over."""
        record, services = self._record, self._services
        with anyio.CancelScope(shield=True):
            await services.store.finish(
                record.ref.turn,
                record.fence,
                state=conclusion.state,
                now=services.clock.now(),
                messages=[MESSAGE.write(message) for message in conclusion.messages],
                tokens=conclusion.tokens,
                error=conclusion.error,
            )
            dropped = services.history.add(record, conclusion.messages)
        self.ended = conclusion
        with anyio.move_on_after(FINISH_S, shield=True):
            if dropped:
                text = "Older parts of this conversation were dropped to stay within its limit."
                await self._run.turn.emit(Noticed(code="history_trimmed", text=text))
            await self._run.announcer.finish(conclusion.outcome)

    async def _cut_off(self, *, hand_on: bool) -> None:
        """Leave the turn in order though this host ends now."""
        if self._later is not None:
            return
        if hand_on and self._concluded is None:
            await self._hand_back()
            return
        with suppress(StoreError):
            await self._end()

    async def _hand_back(self) -> None:
        with suppress(StoreError):
            await self._services.store.release(self._record.ref.turn, self._record.fence)
