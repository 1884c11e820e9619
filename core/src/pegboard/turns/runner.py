"""Run turns: each conversation's in order, different conversations side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import anyio

from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import Channel, Emit, TurnOutcome
from pegboard.contracts.clock import Clock
from pegboard.contracts.message import InboundMessage
from pegboard.conversations.history import History
from pegboard.conversations.key import ConversationKey
from pegboard.conversations.lanes import Lanes
from pegboard.turns.commands import ChatCommand, ChatCommands, parse_command
from pegboard.turns.reply import ASK_TIMEOUT_S, ChannelReply, emitter
from pegboard.turns.run import TurnRun
from pegboard.turns.setup import Hooks, PrepareTurn, Turn

FINISH_S: Final = 5.0
"""How long a cancelled turn may take to close its history and its events."""


class TurnRunner:
    """Joins conversations with the agent: queue, history, loop, delivery, commit.

    Args:
        prepare: Returns what the host provides for a turn.
        hooks: Behaviour hooks.
        clock: Time.
        new_id: Returns a new id for a turn.
        history: What was said in each conversation.
        commands: Answers chat commands where the channel has them, or None.
        ask_timeout_s: Seconds to wait for a person's word; silence is a no.
        redact: Takes secrets out of the errors that people read.
    """

    def __init__(
        self,
        *,
        prepare: PrepareTurn,
        hooks: Hooks,
        clock: Clock,
        new_id: Callable[[], str],
        history: History | None = None,
        commands: ChatCommands | None = None,
        ask_timeout_s: float = ASK_TIMEOUT_S,
        redact: Callable[[str], str] = str,
    ) -> None:
        self.history = History() if history is None else history
        self.hooks = hooks
        self._prepare = prepare
        self._clock = clock
        self._new_id = new_id
        self._commands = commands
        self._ask_timeout_s = ask_timeout_s
        self._redact = redact
        self._lanes = Lanes()
        self._active: dict[ConversationKey, anyio.CancelScope] = {}

    @property
    def active(self) -> tuple[ConversationKey, ...]:
        """The conversations in which a turn runs now."""
        return tuple(self._active)

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
        the turn: nothing more is delivered, and the history says that it was stopped.

        Args:
            message: What came in.
            channel: Where it came from and the reply goes.
            caller: Whom the turn acts for, as the host stamped it.
            emit: Takes the events of the turn, beside the channel's own `stream`.
        """
        turn = self._turn(message, channel, caller, emit)
        if self._commands is not None and channel.info.slash_commands:
            command = parse_command(message.text)
            if command is not None:
                return await self._answer_command(turn, command, self._commands)
        async with self._lanes.place(turn.key):
            return await self._answer(turn)

    async def stop(self, key: ConversationKey) -> bool:
        """Stop the turn that runs in a conversation, and return True when there was one."""
        scope = self._active.get(key)
        if scope is None:
            return False
        scope.cancel()
        return True

    async def new(self, key: ConversationKey) -> None:
        """Stop the turn that runs in a conversation and forget what was said in it."""
        await self.stop(key)
        async with self._lanes.place(key):
            self.history.clear(key)

    async def _answer(self, turn: Turn) -> TurnOutcome:
        run = self._run(turn)
        outcome: TurnOutcome | None = None
        scope = self._active[turn.key] = anyio.CancelScope()
        try:
            with scope:
                outcome = await run.answer()
        finally:
            del self._active[turn.key]
            outcome = outcome or run.stopped()
            with anyio.move_on_after(FINISH_S, shield=True):
                await run.finish(outcome)
        return outcome

    async def _answer_command(
        self, turn: Turn, command: ChatCommand, commands: ChatCommands
    ) -> TurnOutcome:
        run = self._run(turn)
        outcome: TurnOutcome | None = None
        try:
            outcome = await run.say(
                lambda: commands.run(command, turn.caller, _Control(self, turn.key))
            )
        finally:
            outcome = outcome or run.stopped()
            with anyio.move_on_after(FINISH_S, shield=True):
                await run.finish(outcome)
        return outcome

    def _run(self, turn: Turn) -> TurnRun:
        return TurnRun(
            turn,
            prepare=self._prepare,
            hooks=self.hooks,
            history=self.history,
            clock=self._clock,
            redact=self._redact,
        )

    def _turn(
        self, message: InboundMessage, channel: Channel, caller: Caller, emit: Emit | None
    ) -> Turn:
        reply = ChannelReply(
            channel, message, present=caller.attended, ask_timeout_s=self._ask_timeout_s
        )
        return Turn(
            id=self._new_id(),
            key=ConversationKey.of(message),
            message=message,
            caller=caller,
            reply=reply,
            emit=emitter(channel, message.chat, emit),
        )


class _Control:
    """The conversation as a chat command may touch it."""

    def __init__(self, runner: TurnRunner, key: ConversationKey) -> None:
        self._runner = runner
        self._key = key

    async def stop(self) -> bool:
        """Stop the turn that runs."""
        return await self._runner.stop(self._key)

    async def new(self) -> None:
        """Stop the turn that runs and forget what was said."""
        await self._runner.new(self._key)
