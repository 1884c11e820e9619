"""What people and observers are told of a turn: its beginning, its reply, notices, its end."""

from __future__ import annotations

import logging
from dataclasses import replace

import anyio.lowlevel

from pegboard.contracts.channel import TurnOutcome
from pegboard.contracts.hook_events import MessageOutEvent, TurnBegan, TurnEnded
from pegboard.contracts.message import OutboundMessage
from pegboard.contracts.stream import Noticed, StreamEvent, TurnFinished, TurnStarted
from pegboard.plugins.building.isolation import one_line
from pegboard.turns import doubt
from pegboard.turns.admission import failure
from pegboard.turns.setup import Turn, TurnServices

_log = logging.getLogger(__name__)


class TurnAnnouncer:
    """Tells of one attempt of a turn: to its channel, to those who watch, to hooks.

    Args:
        turn: The turn.
        services: What all turns share.
        begun: True when those who watch it know that it began.

    Attributes:
        turn: The turn as it is now: who changes it sets it here.
    """

    def __init__(self, turn: Turn, services: TurnServices, *, begun: bool) -> None:
        self.turn = turn
        self._services = services
        self._begun = begun

    async def begin(self, provider: str, model: str) -> None:
        """Tell everybody that the turn began, unless they know."""
        if self._begun:
            return
        self._begun = True
        turn = self.turn
        await turn.emit(
            TurnStarted(turn=turn.id, provider=provider, model=model, trust=turn.caller.trust)
        )
        await self._services.hooks.observe(
            TurnBegan(turn=turn.id, conversation=turn.conversation, caller=turn.caller)
        )

    async def tell_what_waits(self) -> None:
        """Tell, where events are shown, what there is to tell of earlier turns."""
        turn, services = self.turn, self._services
        if turn.begun is None or not turn.reply.shows_events:
            return
        notice = services.notices.pop(turn.conversation, None)
        if notice is not None:
            await turn.emit(notice)
        if await services.store.doubtful(turn.conversation):
            parts = await services.store.doubtful(turn.conversation, settle=True)
            if parts:
                await turn.emit(Noticed(code=doubt.CODE, text=doubt.sentence(parts)))

    async def tell(self, event: StreamEvent) -> None:
        """Tell the person something now: as an event, or as a message where no event is shown."""
        await self.turn.emit(event)
        if isinstance(event, Noticed) and not self.turn.reply.shows_events:
            try:
                await self.turn.reply.deliver(self.turn.reply.message(event.text))
            except Exception as error:
                _log.info("a notice was not delivered: %s", one_line(error))

    async def tell_later(self, event: StreamEvent) -> None:
        """Tell the person something after the last event of the turn: with the next turn's first.

        Where no event is shown it is a message of its own, at once.
        """
        if self.turn.reply.shows_events:
            self._services.notices[self.turn.conversation] = event
        else:
            await self.tell(event)

    async def outgoing(self, text: str) -> OutboundMessage:
        """Return a reply as the hooks let it go out; where it goes is not for them to say."""
        own = self.turn.reply.message(text)
        event = MessageOutEvent(message=own, caller=self.turn.caller)
        message = (await self._services.hooks.transform("pegboard_message_out", event)).message
        return replace(message, chat=own.chat, thread=own.thread)

    async def deliver(self, outcome: TurnOutcome) -> TurnOutcome:
        """Send the reply of what is not kept, and return how that ended."""
        if not outcome.text:
            return outcome
        message = await self.outgoing(outcome.text)
        outcome = replace(outcome, text=message.text)
        # what was cancelled meanwhile ends here and sends nothing
        await anyio.lowlevel.checkpoint()
        if not message.text.strip() and not message.attachments:
            return outcome
        try:
            await self.turn.reply.deliver(message)
        except Exception as error:
            channel = self.turn.message.channel
            _log.warning("channel %s could not deliver a reply: %s", channel, one_line(error))
            _log.info("the reply was not delivered", exc_info=error)
            failed = failure("delivery_failed", "The reply could not be delivered.")
            return replace(outcome, text="", status="failed", error=failed)
        return outcome

    async def finish(self, outcome: TurnOutcome) -> None:
        """Tell everybody that the turn is over."""
        await self.begin("", "")
        await self.turn.emit(
            TurnFinished(
                turn=self.turn.id,
                status=outcome.status,
                text=outcome.text,
                steps=outcome.steps,
                usage=outcome.usage.to_dict(),
                error=outcome.error,
            )
        )
        await self._services.hooks.observe(
            TurnEnded(
                turn=self.turn.id,
                conversation=self.turn.conversation,
                status=outcome.status,
                steps=outcome.steps,
                usage=outcome.usage,
            )
        )
