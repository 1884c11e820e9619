"""A host that a test kills: `python killed_planner.py FOLDER` lets a model make three tasks.

Started again it goes on; it ends when the turn has ended, and prints what the model read and what
is on the list.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio

from pegboard import ChannelInfo, Delivery, InboundMessage, Inbox, OutboundMessage, Plugin
from pegboard.contracts.provider import ChatRequest
from pegboard.testing import Call, HostFactory, ScriptedModel

CONFIG = {"channels.mail.type": "mail"}
PLAN = [{"step": "one", "status": "completed"}, {"step": "two", "status": "pending"}]
WORK = (
    [Call("TaskCreate", subject="one"), Call("TaskCreate", subject="two")],
    [Call("update_plan", plan=PLAN)],
    [Call("TaskUpdate", taskId="1", status="deleted")],
    [Call("TaskList")],
)


class Mail:
    """A channel that hands in one message."""

    def __init__(self) -> None:
        self.info = ChannelInfo(surface="chat", local=True, live_reply=False, attended=False)

    async def run(self, inbox: Inbox) -> None:
        await inbox.receive(
            InboundMessage(channel="mail", chat="1", sender="me", text="Go.", external_id="1")
        )
        await anyio.sleep_forever()

    async def send(self, message: OutboundMessage) -> Delivery:
        return Delivery(external_ids=(message.id,))


def think(request: ChatRequest) -> Any:
    """Make the next call, or say what every call came to."""
    results = [result.text for message in request.messages for result in message.results]
    steps = sum(message.role == "tool" for message in request.messages)
    return WORK[steps] if steps < len(WORK) else json.dumps(results)


async def main(folder: Path) -> None:
    """Run the host until the message is answered."""
    host = HostFactory(folder)
    plugin = Plugin(summary="Mail")
    plugin.contribute("channel", "mail", lambda context, settings: Mail())
    model = ScriptedModel([think], repeat=True)
    async with (
        host(
            "planning", inline={"post": plugin}, model=model, config=CONFIG, record=False
        ) as world,
        anyio.create_task_group() as tasks,
    ):
        store = world.host.turns.services.store
        tasks.start_soon(world.host.run_channel, "mail")
        said = await store.messages("mail/1")
        while not said or await store.open_turns():
            await anyio.sleep(0.01)
            said = await store.messages("mail/1")
        tasks.cancel_scope.cancel()
    print(said[-1].messages[-1]["parts"][0]["text"])


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
