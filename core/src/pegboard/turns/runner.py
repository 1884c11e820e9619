"""Run turns: what comes in is kept, answered once, and its reply delivered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import anyio

from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import Channel, Emit, TurnOutcome
from pegboard.contracts.engine import After, Lease, Outcome
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.turn import (
    OPEN_STATES,
    Incoming,
    Receipt,
    Source,
    TurnRecord,
    TurnRef,
)
from pegboard.contracts.wire import CALLER, INBOUND
from pegboard.conversations.history import History
from pegboard.conversations.key import ConversationKey
from pegboard.turns.attempt import FINISH_S
from pegboard.turns.commands import ChatCommand, ChatCommands
from pegboard.turns.control import Conversation
from pegboard.turns.handler import MAX_ATTEMPTS, TurnHandler, ended_as
from pegboard.turns.live import LiveTurn, LiveTurns
from pegboard.turns.open_channels import OpenChannels
from pegboard.turns.reply import ChannelReply, emitter
from pegboard.turns.run import TurnRun
from pegboard.turns.setup import Hooks, Turn, TurnServices

LOOK_S: Final = 5.0
"""Seconds between two looks whether another host has ended a turn that somebody here waits for."""


class TurnRunner:
    """Joins conversations with the agent: keeps what comes in, has it answered, tells of the end.

    Args:
        services: What all turns share.
        channels: The channels that this host runs.
        new_id: Returns a new id for a turn, sortable by time.
        commands: Answers chat commands where the channel has them, or None.
        max_attempts: How often a turn may be begun without an end.
    """

    def __init__(
        self,
        services: TurnServices,
        channels: OpenChannels,
        *,
        new_id: Callable[[], str],
        commands: ChatCommands | None = None,
        max_attempts: int = MAX_ATTEMPTS,
    ) -> None:
        self.services = services
        self.channels = channels
        self.commands = commands
        self._new_id = new_id
        self._ended: TurnOutcome | None = None
        self._live = LiveTurns()
        self._handler = TurnHandler(
            services,
            channels,
            self._live,
            commands=commands,
            control=self._control,
            max_attempts=max_attempts,
        )

    @property
    def history(self) -> History:
        """What was said in each conversation."""
        return self.services.history

    @property
    def hooks(self) -> Hooks:
        """The behaviour hooks of all plugins."""
        return self.services.hooks

    @hooks.setter
    def hooks(self, hooks: Hooks) -> None:
        self.services.hooks = hooks

    @property
    def active(self) -> tuple[ConversationKey, ...]:
        """The conversations in which a turn runs here now."""
        return tuple(ConversationKey.read(ref.key) for ref in self._live.running)

    async def receive(
        self,
        message: InboundMessage,
        channel: Channel | None,
        caller: Caller,
        *,
        emit: Emit | None = None,
        source: Source = "message",
        background: bool = False,
    ) -> Receipt:
        """Keep a message and return: a turn answers it, by this host or the next.

        A chat command is answered now, unless it is one that is queued.

        Args:
            message: What came in.
            channel: Where it came from and the reply goes; None when no person wrote it, so that it
                is no command, and the channel of its name delivers the reply once it runs.
            caller: Whom the turn acts for, as the host stamped it.
            emit: Takes the events of the turn, beside the channel's own `stream`.
            source: What the turn answers.
            background: True when nobody waits for it.

        Raises:
            StoreError: When it can't be kept.
        """
        key = ConversationKey.of(message, caller.agent)
        command = self._command(message, channel, caller)
        if command is not None and channel is not None:
            turn = self._turn(key, message, channel, caller, emit)
            await self._answer_command(turn, command, channel)
            return Receipt(ref=TurnRef(turn=turn.id, key=key.text, seq=0, channel=message.channel))
        live = LiveTurn(sinks=[emit] if emit else [])
        receipt, _ = await self._kept(
            key, message, caller, live, source=source, background=background
        )
        return receipt

    async def run(
        self,
        message: InboundMessage,
        *,
        channel: Channel,
        caller: Caller,
        emit: Emit | None = None,
    ) -> TurnOutcome:
        """Answer a message and return how that ended; the reply was then sent to the channel.

        Waits for the turns that came before in the same conversation. Cancelling this call cancels
        the turn: nothing more is delivered, and the history says that it was stopped. What came in
        before is answered once: this waits for that turn, or returns how it ended.

        Args:
            message: What came in.
            channel: Where it came from and the reply goes.
            caller: Whom the turn acts for, as the host stamped it.
            emit: Takes the events of the turn, beside the channel's own `stream`.

        Raises:
            StoreError: When it can't be kept.
        """
        key = ConversationKey.of(message, caller.agent)
        command = self._command(message, channel, caller)
        if command is not None:
            turn = self._turn(key, message, channel, caller, emit)
            return await self._answer_command(turn, command, channel)
        live = LiveTurn(channel=channel, sinks=[emit] if emit else [], waited=True)
        receipt, live = await self._kept(key, message, caller, live)
        return await self._awaited(receipt, live)

    async def handle(self, ref: TurnRef, lease: Lease) -> Outcome:
        """Run a turn that the engine delivers."""
        return await self._handler.handle(ref, lease)

    async def stop(self, key: ConversationKey, *, turn: str | None = None) -> Sequence[TurnRef]:
        """Stop what runs, waits and is queued in a conversation, and return which turns those are.

        What nobody wrote and nobody has begun is left. A queued turn ends once those before it have
        ended.

        Args:
            key: The conversation.
            turn: Only this turn of it; None = all.
        """
        stopped = await self.services.store.ask_to_stop(key.text, turn=turn)
        await self.services.engine.poke(key.text)
        for ref in stopped:  # one that is queued need not wait for a slot only to end
            if await self._handler.handle(ref, Lease(ref.key)) is After.BUSY:
                break
        return stopped

    async def new(self, key: ConversationKey) -> None:
        """Begin a conversation anew: what is open in it is stopped, what was said is forgotten."""
        services = self.services
        stopped = await services.store.new_epoch(key.text, now=services.clock.now())
        services.history.forget(key.text)
        for ref in stopped:
            record = await services.store.turn(ref.turn)
            if record is None or record.state not in OPEN_STATES:
                self._live.end(ref.turn, TurnOutcome(text="", status="cancelled"))
        await services.engine.poke(key.text)

    async def open_turns(self, key: ConversationKey) -> Sequence[TurnRecord]:
        """Return the turns of a conversation that have not ended, in order."""
        return await self._records(lambda ref: ref.key == key.text)

    async def background_turns(self, key: ConversationKey) -> Sequence[TurnRecord]:
        """Return the open turns of a chat that nobody waits for."""

        def of_chat(ref: TurnRef) -> bool:
            if not ref.background:
                return False
            other = ConversationKey.read(ref.key)
            return (other.channel, other.chat) == (key.channel, key.chat)

        return await self._records(of_chat)

    async def submit_background(
        self, key: ConversationKey, message: InboundMessage, caller: Caller
    ) -> Receipt:
        """Let a request be answered beside a conversation; the reply goes to the same chat.

        Raises:
            StoreError: When it can't be kept.
        """
        id = self._new_id()
        beside = ConversationKey(key.channel, key.chat, f"{key.thread}~{id}", key.agent)
        receipt, _ = await self._kept(beside, message, caller, LiveTurn(), background=True, turn=id)
        return receipt

    def hand_on(self) -> None:
        """Hand on, from now on, every turn that is cut off: this host goes down."""
        self._handler.handing_on = True

    def let_go(self, outcome: TurnOutcome) -> None:
        """Tell who waits, and who comes from now on, that no more turns run here."""
        self._ended = outcome
        self._live.end_all(outcome)

    def _command(
        self, message: InboundMessage, channel: Channel | None, caller: Caller
    ) -> ChatCommand | None:
        """Return the command that is answered at once, or None."""
        if self.commands is None or channel is None:
            return None
        slash_commands = channel.info.slash_commands
        command = self.commands.parse(message.text, caller, slash_commands=slash_commands)
        if command is None or not self.commands.bypasses(command, caller):
            return None
        return command

    def _title(self, message: InboundMessage, caller: Caller) -> str | None:
        """Return what a command calls a conversation that begins with it: its argument, if any."""
        command = None if self.commands is None else self.commands.parse(message.text, caller)
        return None if command is None else command.argument

    async def _kept(
        self,
        key: ConversationKey,
        message: InboundMessage,
        caller: Caller,
        live: LiveTurn,
        *,
        source: Source = "message",
        background: bool = False,
        turn: str = "",
    ) -> tuple[Receipt, LiveTurn]:
        """Keep what came in; return its receipt, and what follows its turn here."""
        services = self.services
        incoming = Incoming(
            turn=turn or self._new_id(),
            key=key.text,
            channel=message.channel,
            chat=message.chat,
            thread=message.thread,
            agent=key.agent,
            external_id=message.external_id,
            source=source,
            background=background,
            message=INBOUND.write(message),
            caller=CALLER.write(caller),
            at=services.clock.now(),
            title=self._title(message, caller),
        )
        if live.sinks or live.waited:  # before anybody can begin it
            self._live.follow(incoming.turn, live)
        try:
            with anyio.CancelScope(shield=True):  # either it is kept, or nobody is told so
                receipt = await services.store.ingest(incoming)
                await services.engine.submit(receipt.ref)
        except BaseException:
            self._live.end(incoming.turn, TurnOutcome(text="", status="failed"))
            raise
        if receipt.duplicate:
            live = self._joined(incoming.turn, receipt.ref, live)
        return receipt, live

    def _joined(self, own: str, ref: TurnRef, live: LiveTurn) -> LiveTurn:
        """Let who handed in a message again follow the turn that it got the first time."""
        self._live.end(own, TurnOutcome(text=""))
        first = self._live.get(ref.turn)
        if first is not None:
            first.sinks.extend(live.sinks)
            return first
        return LiveTurn()

    async def _awaited(self, receipt: Receipt, live: LiveTurn) -> TurnOutcome:
        """Return how a turn ended, wherever it runs."""
        ref = receipt.ref
        if self._ended is not None:
            return self._ended
        pause = 0.0 if receipt.duplicate else LOOK_S  # a turn from before may be over
        try:
            while live.outcome is None:
                with anyio.move_on_after(pause):
                    await live.ended.wait()
                pause = LOOK_S
                if live.outcome is None and live.scope is None and await self._over(ref):
                    outcome = await ended_as(self.services.store, ref)
                    self._live.end(ref.turn, outcome)
                    return outcome
        except anyio.get_cancelled_exc_class():
            if live.waited and not receipt.duplicate:
                with anyio.move_on_after(FINISH_S, shield=True):
                    await self._given_up(ref, live)
            raise
        return live.outcome

    async def _over(self, ref: TurnRef) -> bool:
        record = await self.services.store.turn(ref.turn)
        return record is None or record.state not in OPEN_STATES

    async def _given_up(self, ref: TurnRef, live: LiveTurn) -> None:
        """Stop a turn whose waiting call was cancelled, also when it has not begun."""
        if self._handler.handing_on:
            return
        live.given_up = True
        if live.scope is not None:
            live.scope.cancel()
            await live.ended.wait()
            return
        await self.stop(ConversationKey.read(ref.key), turn=ref.turn)

    async def _answer_command(
        self, turn: Turn, command: ChatCommand, channel: Channel
    ) -> TurnOutcome:
        assert self.commands is not None
        commands, run = self.commands, TurnRun(turn, self.services)
        outcome = TurnOutcome(text="", status="cancelled")
        try:
            conclusion = await run.say(
                lambda: commands.run(
                    command, turn.caller, turn.message, self._control(turn, channel)
                )
            )
            outcome = await run.announcer.deliver(conclusion.outcome)
        finally:
            with anyio.move_on_after(FINISH_S, shield=True):
                await run.announcer.finish(outcome)
        return outcome

    def _turn(
        self,
        key: ConversationKey,
        message: InboundMessage,
        channel: Channel,
        caller: Caller,
        emit: Emit | None,
    ) -> Turn:
        reply = ChannelReply(
            channel, message, present=caller.attended, ask_timeout_s=self.services.ask_timeout_s
        )
        id = self._new_id()
        watch = self.services.watcher(key.text, id)
        return Turn(
            id=id,
            key=key,
            message=message,
            caller=caller,
            reply=reply,
            emit=emitter(channel, message.chat, [emit] if emit else [], watch),
        )

    def _control(self, turn: Turn, channel: Channel) -> Conversation:
        return Conversation(self, turn)

    async def _records(self, wanted: Callable[[TurnRef], bool]) -> Sequence[TurnRecord]:
        store = self.services.store
        found = [await store.turn(ref.turn) for ref in await store.open_turns() if wanted(ref)]
        return [record for record in found if record is not None]
