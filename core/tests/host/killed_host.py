"""A host that a test kills: `python killed_host.py FOLDER` answers three messages.

What its tools and its channel really did is in `FOLDER/log`, a line each, written by themselves.
Started again it hands the same messages in again, as a channel does that was not told they were
received; it ends when every turn has ended, and prints what the store knows then.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio

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

MESSAGES = ("one", "two", "three")
CONFIG = {"channels.mail.type": "mail"}


def note(folder: Path, line: str) -> None:
    """Append a line to the log, on the disk before this returns."""
    with (folder / "log").open("a") as log:
        log.write(" ".join(line.split()) + "\n")
        log.flush()
        os.fsync(log.fileno())


def shop(folder: Path) -> Plugin:
    """Return a plugin with a channel, a tool that reads and one that does not."""
    plugin = Plugin(summary="A shop")

    def dies(what: str) -> None:
        if os.environ.get("DIE_IN") == what:
            if "EXIT" in os.environ:
                os._exit(int(os.environ["EXIT"]))
            os.kill(os.getpid(), signal.SIGKILL)

    @plugin.tool(effects={"read"})
    async def look(ctx: ToolContext, what: str) -> str:
        """Look something up."""
        note(folder, f"look {what} {ctx.call.attempt}")
        dies(f"look {what}")
        return f"{what} costs 7"

    @plugin.tool(effects={"net_write"})
    async def pay(ctx: ToolContext, what: str) -> str:
        """Pay for something."""
        note(folder, f"pay {what} {ctx.call.attempt}")
        dies(f"pay {what}")
        return f"paid for {what}"

    plugin.contribute("channel", "mail", lambda context, settings: Mail(folder))
    return plugin


class Mail:
    """A channel that hands in three messages and logs what it sends."""

    def __init__(self, folder: Path) -> None:
        self.info = ChannelInfo(surface="chat", local=True, live_reply=False, attended=False)
        self._folder = folder

    async def run(self, inbox: Inbox) -> None:
        for text in MESSAGES:
            message = InboundMessage(
                channel="mail", chat="1", sender="me", text=text, external_id=text
            )
            await inbox.receive(message)
            note(self._folder, f"received {text}")
        await anyio.sleep_forever()

    async def send(self, message: OutboundMessage) -> Delivery:
        note(self._folder, f"sent {message.text}")
        return Delivery(external_ids=(message.id,))


def think(request: ChatRequest) -> Any:
    """Answer as a model would: look it up, pay, say so."""
    turn = [m for m in request.messages if m.role == "user"][-1]
    done = request.messages[request.messages.index(turn) + 1 :]
    results = [result for message in done for result in message.results]
    if not results:
        return Call("look", what=turn.text)
    if len(results) == 1:
        return Call("pay", what=turn.text)
    return f"{turn.text}: {'in doubt' if results[1].error else 'paid'}"


async def main(folder: Path) -> None:
    """Run the host until all is answered."""
    host = HostFactory(folder)
    model = ScriptedModel([think], repeat=True)
    async with (
        host(inline={"shop": shop(folder)}, model=model, config=CONFIG, record=False) as world,
        anyio.create_task_group() as tasks,
    ):
        store = world.host.turns.services.store
        tasks.start_soon(world.host.run_channel, "mail")
        kept = 0
        while kept < len(MESSAGES) or await store.open_turns():
            await anyio.sleep(0.01)
            kept = sum(item.turns for item in await store.conversations())
        said = await store.messages("mail/1")
        turns = [await store.turn(turn.turn) for turn in said]
        doubtful = await store.doubtful()
        tasks.cancel_scope.cancel()
    print(
        json.dumps(
            {
                "turns": [[turn.message["text"], turn.state] for turn in turns if turn],
                "said": [len(turn.messages) for turn in said],
                "doubtful": [part.message["text"] for part in doubtful],
                "asked": len(model.requests),
            }
        )
    )


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
