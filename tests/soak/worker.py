"""A host of the soak: `python worker.py FOLDER NAME STARTED SECONDS PAUSE_S CHAT...`.

Its channel hands in numbered messages of its chats and sends the replies of any; a tool that reads
and one that pays let child processes of their own append to the log. It ends when it is killed.
"""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import anyio

import pegboard.store.turn_rows as turn_rows
from pegboard import (
    ChannelInfo,
    Delivery,
    InboundMessage,
    Inbox,
    OutboundMessage,
    Plugin,
    ToolContext,
)
from pegboard.contracts.provider import ChatRequest
from pegboard.testing import Call, HostFactory, ScriptedModel

CHILD = 'echo "start $1" >>"$0"; sleep "${SOAK_CHILD_S:-0.05}"; echo "end $1" >>"$0"'
CONFIG = {"channels.mail.type": "mail", "turns.max_attempts": 50, "turns.slots": 4}
UNFENCED = "SOAK_UNFENCED"
"""Set for the test of the soak itself: without the fence it must fail."""


def note(log: Path, line: str) -> None:
    """Append a line in one write."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


class Mail:
    """A channel that hands in the messages of its chats, each when it is due."""

    def __init__(
        self,
        log: Path,
        worker: str,
        chats: list[str],
        *,
        started: float,
        seconds: float,
        pause_s: float,
    ) -> None:
        self.info = ChannelInfo(
            surface="chat", local=True, live_reply=False, attended=False, deduplicates=True
        )
        self._log = log
        self._worker = worker
        self._chats = chats
        self._started = started
        self._pause_s = pause_s
        self._count = int(seconds / pause_s)

    async def run(self, inbox: Inbox) -> None:
        received = [line.split() for line in self._log.read_text("utf-8").splitlines()]
        note(self._log, f"ready {self._worker}")
        async with anyio.create_task_group() as group:
            for chat in self._chats:
                numbers = [int(words[2]) for words in received if words[:2] == ["received", chat]]
                group.start_soon(self._feed, inbox, chat, max(numbers, default=1))
        await anyio.sleep_forever()

    async def _feed(self, inbox: Inbox, chat: str, first: int) -> None:
        """Hand in what comes from `first` on; that may be one that was received already."""
        for number in range(first, self._count + 1):
            due = self._started + number * self._pause_s
            await anyio.sleep(max(0.0, due - time.monotonic()))
            await inbox.receive(
                InboundMessage(
                    channel="mail",
                    chat=chat,
                    sender="me",
                    text=f"{chat} {number}",
                    external_id=str(number),
                )
            )
            note(self._log, f"received {chat} {number}")

    async def send(self, message: OutboundMessage) -> Delivery:
        note(self._log, f"sent {_one_line(message.text, message.id)}")
        return Delivery(external_ids=(message.id,))


def _one_line(text: str, id: str) -> str:
    """Return `CHAT NUMBER ID WORD`; another reply than the model's gets a word of its own."""
    found = re.fullmatch(r"(\w+) (\d+): (\S+)", text)
    return f"{found[1]} {found[2]} {id} {found[3]}" if found else f"? 0 {id} other"


def shop(log: Path, worker: str, mail: Mail) -> Plugin:
    """Return a plugin with the channel, a tool that reads and one that does not."""
    plugin = Plugin(summary="A shop")

    async def child(ctx: ToolContext, tool: str, what: str) -> None:
        note(log, f"in {worker} {tool}")
        turn = ctx.call.idempotency_key.partition(":")[0]
        line = f"{tool} {what} {turn} {ctx.call.attempt}"
        await anyio.run_process(["/bin/sh", "-c", CHILD, str(log), line])

    @plugin.tool(effects={"read"})
    async def look(ctx: ToolContext, what: str) -> str:
        """Look something up."""
        await child(ctx, "look", what)
        return f"{what} costs 7"

    @plugin.tool(effects={"net_write"})
    async def pay(ctx: ToolContext, what: str) -> str:
        """Pay for something."""
        await child(ctx, "pay", what)
        return f"paid for {what}"

    plugin.contribute("channel", "mail", lambda context, settings: mail)
    return plugin


def think(request: ChatRequest) -> Any:
    """Answer as a model would: look it up, pay, say so."""
    turn = [m for m in request.messages if m.role == "user"][-1]
    done = request.messages[request.messages.index(turn) + 1 :]
    results = [result for message in done for result in message.results]
    if not results:
        return Call("look", what=turn.text)
    if len(results) == 1:
        return Call("pay", what=turn.text) if not results[0].error else f"{turn.text}: no-look"
    return f"{turn.text}: {'in-doubt' if results[1].error else 'paid'}"


def remove_the_fence() -> None:
    """Let every attempt write, and never tell one that it must end."""
    turn_rows.held = lambda *args, **options: None
    turn_rows.stopping = lambda *args, **options: False


async def main(folder: Path, worker: str, mail: Mail) -> None:
    """Run a host until it is killed."""
    hosts = HostFactory(folder / "workers" / worker)
    hosts.home = folder / "home"
    model = ScriptedModel([think], repeat=True)
    model._calls = os.getpid() * 1_000_000  # no two hosts get one id for two calls from a model
    async with hosts(
        inline={"shop": shop(folder / "log", worker, mail)},
        model=model,
        config=CONFIG,
        record=False,
    ) as world:
        await world.host.run_channel("mail")


if __name__ == "__main__":
    place, name, begun, length, pause, *own = sys.argv[1:]
    if os.environ.get(UNFENCED):
        remove_the_fence()
    channel = Mail(
        Path(place) / "log",
        name,
        own,
        started=float(begun),
        seconds=float(length),
        pause_s=float(pause),
    )
    anyio.run(main, Path(place), name, channel)
