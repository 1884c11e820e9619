"""What an engine calls for every turn it delivers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

import anyio

from pegboard.channels.outbox_sender import external_ids
from pegboard.contracts.approval import Suspended
from pegboard.contracts.channel import Channel, Delivery, TurnOutcome
from pegboard.contracts.engine import After, Later, Lease, Outcome
from pegboard.contracts.errors import StoreError
from pegboard.contracts.store import Store
from pegboard.contracts.stream import Noticed
from pegboard.contracts.turn import Begun, CallRecord, NotBegun, TurnRef
from pegboard.contracts.wire import CALLER, INBOUND, MESSAGE, WireError
from pegboard.conversations.key import ConversationKey
from pegboard.plugins.building.isolation import one_line
from pegboard.turns.attempt import Attempt, Doorbell
from pegboard.turns.calls_in_flight import calls_in_flight, more_about, tool_names
from pegboard.turns.commands import ChatCommand, ChatCommands, ConversationControl
from pegboard.turns.conclusion import TURN_DEAD, Conclusion
from pegboard.turns.live import LiveTurn, LiveTurns
from pegboard.turns.open_channels import OpenChannels
from pegboard.turns.reply import ChannelReply, emitter, masked
from pegboard.turns.run import TurnRun
from pegboard.turns.setup import Turn, TurnServices

MAX_ATTEMPTS: Final = 3
GIVEN_UP: Final = (
    "I could not finish this request: the host was stopped each time it was at work on it. It is "
    "given up now; send it again if you still need it."
)
_log = logging.getLogger(__name__)


class TurnHandler:
    """Runs the turns that an engine delivers.

    Args:
        services: What all turns share.
        channels: The channels that this host runs.
        live: What this process holds of turns.
        commands: Chat commands, or None.
        control: Returns what commands may do to a conversation.
        max_attempts: How often a turn may be begun without an end.
    """

    def __init__(
        self,
        services: TurnServices,
        channels: OpenChannels,
        live: LiveTurns,
        *,
        commands: ChatCommands | None,
        control: Callable[[Turn, Channel], ConversationControl],
        max_attempts: int = MAX_ATTEMPTS,
    ) -> None:
        self.handing_on = False
        """True once this host goes down and hands on what it has not finished."""
        self._services = services
        self._channels = channels
        self._live = live
        self._commands = commands
        self._control = control
        self._max_attempts = max_attempts

    async def handle(self, ref: TurnRef, lease: Lease) -> Outcome:
        """Run a turn, or say why not now.

        Raises:
            StoreError: When the store can't be read or written; the turn is as it was.
        """
        live = self._live.begun(ref)
        channel = live.channel or self._channels.of(ref)
        if channel is None:  # it has gone since; who opens it again takes up its turns
            self._live.leave(ref.turn)
            return After.FENCED
        bell = Doorbell()
        lease.poked = bell.ring  # from before it is begun: then nobody's wish is missed
        store, now = self._services.store, self._services.clock.now()
        if lease.due is not None:  # it was waited for, whatever the clock says since it was set
            now = max(now, lease.due)
        begun = await store.begin(ref.turn, now=now, max_attempts=self._max_attempts)
        if isinstance(begun, NotBegun):
            return await self._not_begun(ref, begun)
        try:
            calls = calls_in_flight(begun)
            if calls and self._services.died is not None:
                await self._services.died(begun.turn, calls)
            outcome = await self._begun(begun, channel, live, bell)
        except WireError as error:
            await self._unreadable(begun, error)
            return After.DONE
        except BaseException:
            # what was not ended must not stay begun: as long as this host lives nobody could end it
            with anyio.CancelScope(shield=True), suppress(StoreError):
                await store.release(ref.turn, begun.turn.fence)
            raise
        if outcome is After.FENCED:
            self._live.leave(ref.turn)
        return outcome

    async def _begun(
        self, begun: Begun, channel: Channel, live: LiveTurn, bell: Doorbell
    ) -> Outcome:
        turn = self._turn(begun, channel, live)
        attempt: Attempt | None = None
        try:
            with self._services.leased(turn.caller) as caller:
                own = replace(turn, caller=caller)
                command = self._command(own)
                run = TurnRun(
                    own, self._services, told=live.emitted.began, command=command is not None
                )
                attempt = Attempt(
                    run,
                    begun,
                    channel,
                    live,
                    self._services,
                    conclude=lambda run: self._conclude(run, channel, command),
                )
                outcome = await attempt.run(bell, handing_on=lambda: self._hands_on(live))
        finally:
            if attempt is not None and attempt.ended is not None:
                self._live.end(turn.id, attempt.ended.outcome)
        await attempt.compact()
        return outcome

    def _hands_on(self, live: LiveTurn) -> bool:
        """Tell whether a turn that is cut off is handed on: nobody here waits for its end."""
        return self.handing_on or not live.waited

    def _command(self, turn: Turn) -> ChatCommand | None:
        """Return the chat command that a message is, or None."""
        if self._commands is None:
            return None
        # the writer's channel says what was a command, which may be another one than delivers now
        slash_commands = turn.caller.slash_commands
        return self._commands.parse(turn.message.text, turn.caller, slash_commands=slash_commands)

    async def _conclude(
        self, run: TurnRun, channel: Channel, command: ChatCommand | None
    ) -> Conclusion:
        turn, commands = run.turn, self._commands
        if turn.begun is not None and turn.begun.given_up:
            return _given_up(turn.begun, shown=turn.reply.shows_events)
        if commands is None or command is None:
            await self._within_limits(run)
            return await run.answer()
        control = self._control(turn, channel)
        return await run.say(lambda: commands.run(command, turn.caller, turn.message, control))

    async def _within_limits(self, run: TurnRun) -> None:
        """Let a turn wait for which there is no room now; its sender is told so once.

        Raises:
            Suspended: When it has to wait.
        """
        turn, limits = run.turn, self._services.limits
        if limits is None or turn.taken_up:
            return
        now = self._services.clock.now()
        held = await limits.held(turn.caller, turn.message, now, turn=turn.id)
        if held is None:
            return
        if held.sentence:
            await run.announcer.tell(Noticed(code="limit", text=held.sentence))
        raise Suspended(held.until)

    async def _not_begun(self, ref: TurnRef, answer: NotBegun) -> Outcome:
        if answer.why == "busy":
            return After.BUSY
        if answer.why == "later":
            return Later(answer.at)
        if answer.why == "dead":
            _log.error("turn %s is given up, and could not be told so", ref.turn)
        self._live.end(ref.turn, await ended_as(self._services.store, ref))
        return After.DONE

    async def _unreadable(self, begun: Begun, error: WireError) -> None:
        """End a turn that this version of the host can't read."""
        record = begun.turn
        _log.error("turn %s can't be read: %s", record.ref.turn, error)
        await self._services.store.finish(
            record.ref.turn,
            record.fence,
            state="failed",
            now=self._services.clock.now(),
            error=error.to_dict(),
        )
        outcome = TurnOutcome(text="", status="failed", error=error.to_dict())
        self._live.end(record.ref.turn, outcome)

    def _turn(self, begun: Begun, channel: Channel, live: LiveTurn) -> Turn:
        record, services = begun.turn, self._services
        message, caller = INBOUND.read(record.message), CALLER.read(record.caller)

        async def noted(number: int, delivery: Delivery) -> None:
            """Write down a message beside the reply: who takes the turn up must know of it."""
            sent = CallRecord(
                id=f"message:{number}",
                kind="message",
                name=record.ref.channel,
                result={"external_ids": list(external_ids(delivery))},
            )
            try:
                await services.store.intend(record.ref.turn, record.fence, [sent])
            except StoreError as error:
                _log.warning("a message was sent and not written down: %s", one_line(error))

        watch = self._services.watcher(record.ref.key, record.ref.turn)
        return Turn(
            id=record.ref.turn,
            key=ConversationKey.read(record.ref.key),
            message=message,
            caller=caller,
            reply=ChannelReply(
                channel,
                message,
                present=caller.attended,
                ask_timeout_s=self._services.ask_timeout_s,
                sent=sum(call.kind == "message" for call in begun.calls.values()),
                noted=noted,
            ),
            emit=live.emitted.through(
                masked(emitter(channel, message.chat, live.sinks, watch), services.redact)
            ),
            begun=begun,
            journal=services.journal(begun),
        )


def _given_up(begun: Begun, *, shown: bool) -> Conclusion:
    """Return the conclusion of a turn that was begun too often.

    The history keeps nothing of it: what ended its hosts may be the request itself.
    """
    ref, attempts = begun.turn.ref, begun.turn.attempts - 1
    _log.warning("turn %s was begun %d times and is given up", ref.turn, attempts)
    text, calls = GIVEN_UP, calls_in_flight(begun)
    if calls:
        text = f"{GIVEN_UP} The last thing it ran was {tool_names(calls)}."
    error = {"code": TURN_DEAD, "message": text, "fix": more_about(calls)}
    return Conclusion(status="failed", text="" if shown else text, error=error)


async def ended_as(store: Store, ref: TurnRef) -> TurnOutcome:
    """Return how a turn ended that this process did not end; `cancelled` when it was erased."""
    record = await store.turn(ref.turn)
    if record is None or record.state == "cancelled":
        return TurnOutcome(text="", status="cancelled")
    said = [turn for turn in await store.messages(ref.key) if turn.turn == ref.turn]
    messages = [MESSAGE.read(message) for turn in said for message in turn.messages]
    answer = messages[-1].text if messages and messages[-1].role == "assistant" else ""
    if record.state == "done":
        return TurnOutcome(text=answer)
    return TurnOutcome(text="", status="failed", error=dict(record.error or {}))
