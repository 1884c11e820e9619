"""A host that a test kills: `python killed_shell.py FOLDER` starts commands in the background.

Two conversations: one of them is over when the host is killed, the other is at a step. Started
again it goes on; it ends when both have ended, asks each once more, and prints how often each of
the model's requests tells of the commands.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio

from pegboard import ChannelInfo, Delivery, InboundMessage, Inbox, OutboundMessage, Plugin
from pegboard.contracts.provider import ChatRequest
from pegboard.testing import Call, HostFactory, ScriptedModel

CONFIG = {"channels.mail.type": "mail", "sandboxes.local": {"allow_unconfined_shell": True}}
STEPS = (Call("shell", command="sleep 600", background=True), Call("die"))


class Mail:
    """A channel that hands in two messages, the second one when the first is answered."""

    def __init__(self, folder: Path) -> None:
        self.info = ChannelInfo(surface="chat", local=True, live_reply=False, attended=False)
        self.inbox: Inbox | None = None
        self._told = folder / "told"

    async def run(self, inbox: Inbox) -> None:
        self.inbox = inbox
        if not self._told.exists():
            await self.write("quiet", "1")
            while not self._told.exists():
                await anyio.sleep(0.01)
            await self.write("busy", "1")
        await anyio.sleep_forever()

    async def write(self, chat: str, number: str) -> None:
        assert self.inbox is not None
        await self.inbox.receive(
            InboundMessage(
                channel="mail", chat=chat, sender="me", text=chat, external_id=f"{chat}{number}"
            )
        )

    async def send(self, message: OutboundMessage) -> Delivery:
        self._told.touch()
        return Delivery(external_ids=(message.id,))


async def main(folder: Path) -> None:
    """Run the host until it is killed, or until both conversations have been told."""
    told: list[tuple[str, list[str]]] = []

    def think(request: ChatRequest) -> Any:
        said = [message for message in request.messages if message.role != "system"]
        chat = next(part.text for part in said[0].parts if part.text in ("quiet", "busy"))
        texts = [
            part.text
            for message in said
            for part in (*message.parts, *(part for it in message.results for part in it.parts))
        ]
        told.append((chat, [text for text in texts if text.startswith("[Meanwhile: ")]))
        steps = sum(message.role == "tool" for message in said)
        return STEPS[steps] if steps < (1 if chat == "quiet" else 2) else "Done."

    plugin = Plugin(summary="Mail")
    mail = Mail(folder)
    plugin.contribute("channel", "mail", lambda context, settings: mail)

    @plugin.tool(effects={"read"})
    async def die() -> str:
        """Kill the host, the first time."""
        if not (folder / "killed").exists():
            (folder / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return "lives"

    model = ScriptedModel([think], repeat=True)
    inline = {"post": plugin}
    async with (
        HostFactory(folder)(
            "shell", "sandbox-local", inline=inline, model=model, config=CONFIG, record=False
        ) as world,
        anyio.create_task_group() as tasks,
    ):
        store = world.host.turns.services.store
        tasks.start_soon(world.host.run_channel, "mail")

        async def until_answered(chat: str, count: int) -> None:
            while len(await store.messages(f"mail/{chat}")) < count:
                await anyio.sleep(0.01)

        await until_answered("busy", 1)
        for chat in ("quiet", "busy"):
            await mail.write(chat, "2")
            await until_answered(chat, 2)
        tasks.cancel_scope.cancel()
    print(json.dumps(told))


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
