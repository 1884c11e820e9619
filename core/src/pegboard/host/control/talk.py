"""One chat that a channel of this process shows, and whose turns the resident host runs."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
import anyio.abc
from anyio.streams.memory import MemoryObjectSendStream

from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import Channel, TurnOutcome
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.stream import Noticed, StreamEvent, read_event
from pegboard.contracts.wire import INBOUND, OUTBOUND
from pegboard.host.control.client import ControlClient, Frames
from pegboard.host.control.forms import caller_form, outcome_of
from pegboard.host.control.protocol import error_of
from pegboard.host.turn_options import TurnOptions
from pegboard.plugins.building.isolation import one_line

STOP_S: Final = 15.0
"""Seconds to wait for the end of a turn that was given up."""
_log = logging.getLogger("pegboard.host.control")
_Sender = MemoryObjectSendStream[Mapping[str, Any]]


class _Said:
    """A message that was handed in."""

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.outcome: TurnOutcome | None = None
        self.error: PegboardError | None = None


class Talk:
    """The chat. Opened by `talking`.

    Everything that comes of it is shown in the order in which it happened.

    Args:
        client: The connection to the host.
        channel: What shows it.
        chat: The chat.
        turn_options: What its turns ask for.
        sender: Where frames go that belong to it.
        group: Where questions are put from.
    """

    def __init__(
        self,
        client: ControlClient,
        channel: Channel,
        chat: str,
        turn_options: TurnOptions,
        sender: _Sender,
        group: anyio.abc.TaskGroup,
    ) -> None:
        self._client = client
        self._channel = channel
        self._chat = chat
        self._turn_options = turn_options
        self._sender = sender
        self._group = group
        self._id = 0
        self._said: dict[int, _Said] = {}
        self._asking: dict[int, anyio.CancelScope] = {}
        self._silent = False
        self._showing = anyio.CancelScope(shield=True)
        self._failed: PegboardError | None = None

    async def open(self) -> None:
        """Let the host send what happens in the chat."""
        info = self._channel.info
        self._id = self._client.reserve(self._sender)
        await self._client.send(self._id, "open", chat=self._chat, attended=info.attended)

    async def say(self, message: InboundMessage, caller: Caller | None) -> TurnOutcome:
        """Have a message answered and return how its turn ended.

        Cancelling this cancels the turn.

        Raises:
            PegboardError: When the host refuses the message, or ended.
        """
        info, turn_options = self._channel.info, self._turn_options
        if self._failed is not None:
            raise self._failed
        id, said = self._client.reserve(self._sender), _Said()
        self._said[id] = said
        try:
            await self._client.send(
                id,
                "submit",
                message=INBOUND.write(message),
                attended=info.attended,
                live_reply=info.live_reply,
                slash_commands=info.slash_commands,
                caller=None if caller is None else caller_form(caller),
                folder=None if turn_options.folder is None else str(turn_options.folder),
                provider=turn_options.provider or None,
                model=turn_options.model or None,
                effort=turn_options.effort or None,
                retract=info.retract,
            )
            await said.ended.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(STOP_S, shield=True), suppress(PegboardError):
                await self._client.call("cancel", of=id)
                await said.ended.wait()
            raise
        finally:
            del self._said[id]
            self._client.forget(id)
        if said.outcome is None:
            raise said.error or self._client.lost()
        return said.outcome

    async def show(self, frames: Frames) -> None:
        """Show what the host sends, until it ends or `close` is called.

        Cancelling a turn does not end it: how that ends is shown as well.
        """
        with self._showing:
            async for frame in frames:
                said = self._said.get(frame["id"])
                if said is not None:
                    self._end(said, frame)
                elif "error" in frame:
                    self._fail(error_of(frame["error"]))
                else:
                    await self._take(frame)
            self._fail(self._client.lost())

    def close(self) -> None:
        """Show nothing more."""
        self._showing.cancel()

    async def _take(self, frame: Mapping[str, Any]) -> None:
        try:
            if "event" in frame:
                await self._stream(read_event(frame["event"]))
            elif "send" in frame:
                await self._channel.send(OUTBOUND.read(frame["send"]))
            elif "ask" in frame:
                self._group.start_soon(self._ask, frame["ask"], frame["question"])
            elif "asked" in frame and frame["asked"] in self._asking:
                self._asking[frame["asked"]].cancel()
            elif "lost" in frame:
                text = f"{frame['lost']} events came faster than they could be shown."
                await self._stream(Noticed(code="events_lost", text=text))
        except Exception as error:  # as in a host: showing a turn must not break it
            _log.warning("a channel failed to show what happened: %s", one_line(error))
            self._silent = True

    async def _stream(self, event: StreamEvent | None) -> None:
        stream = getattr(self._channel, "stream", None)
        if stream is not None and event is not None and not self._silent:
            await stream(self._chat, event)

    async def _ask(self, number: int, question: str) -> None:
        with anyio.CancelScope() as scope:
            self._asking[number] = scope
            try:
                agreed = await self._put(question)
                with suppress(PegboardError):  # too late, or the host ended
                    await self._client.call("answer", ask=number, agreed=agreed)
            finally:
                del self._asking[number]

    async def _put(self, question: str) -> bool:
        ask = getattr(self._channel, "ask", None)
        if ask is None:
            return False
        try:
            return bool(await ask(self._chat, question))
        except Exception as error:
            _log.warning("a channel could not put a question: %s", one_line(error))
            return False

    def _end(self, said: _Said, frame: Mapping[str, Any]) -> None:
        if "error" in frame:
            said.error = error_of(frame["error"])
        elif "ok" in frame:
            said.outcome = outcome_of(frame["ok"])
        else:
            return
        said.ended.set()

    def _fail(self, error: PegboardError) -> None:
        self._failed = error
        for said in self._said.values():
            said.error = error
            said.ended.set()


@asynccontextmanager
async def talking(
    client: ControlClient, channel: Channel, chat: str, turn_options: TurnOptions
) -> AsyncIterator[Talk]:
    """Show a chat by a channel for the time of the block.

    Args:
        client: The connection to the host.
        channel: What shows it.
        chat: The chat.
        turn_options: What its turns ask for.
    """
    failed: Exception | None = None
    sender, frames = anyio.create_memory_object_stream[Mapping[str, Any]](math.inf)
    with sender, frames:
        async with anyio.create_task_group() as group:
            talk = Talk(client, channel, chat, turn_options, sender, group)
            group.start_soon(talk.show, frames)
            try:
                await talk.open()
                yield talk
            except Exception as error:
                failed = error  # raised below as it is, not in a group
            finally:
                talk.close()
            group.cancel_scope.cancel()
    if failed is not None:
        raise failed
