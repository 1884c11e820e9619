"""Kill a host with `kill -9` in the middle of a tool call, twice, and let the next one go on.

    python examples/kill_and_resume.py            show it
    python examples/kill_and_resume.py --write    write the page of the docs that tells of it
    python examples/kill_and_resume.py --check    tell whether that page still says what happens

Nothing is simulated: each host is a process of its own, and is killed while its tool runs.
"""

from __future__ import annotations

import argparse
import inspect
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
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

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "killed-in-the-middle.md"
QUESTION = "Pay the baker what we owe"
LOG = "what-happened"
PATIENCE_S = 60.0


def bakery(folder: Path) -> Plugin:
    """Return a plugin with a tool that reads and one that pays; both take their time."""
    plugin = Plugin(summary="What is owed, and paying it")

    @plugin.tool(effects={"read"})
    async def bill(ctx: ToolContext, of: str) -> str:
        """Look up what is owed."""
        note(folder, f"bill of the {of}: begins, attempt {ctx.call.attempt}")
        await anyio.sleep(0.5)
        note(folder, f"bill of the {of}: 7.50")
        return "7.50"

    @plugin.tool(effects={"net_write"})
    async def pay(ctx: ToolContext, to: str, amount: str) -> str:
        """Pay somebody."""
        note(folder, f"pay {amount} to the {to}: begins, attempt {ctx.call.attempt}")
        await anyio.sleep(0.5)
        note(folder, f"pay {amount} to the {to}: done")
        return "paid"

    plugin.contribute("channel", "letters", lambda context, settings: Letters(folder))
    return plugin


class Letters:
    """A channel that hands in one message, again and again until it is told it was received."""

    info = ChannelInfo(surface="chat", local=True, live_reply=False, attended=False)

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def run(self, inbox: Inbox) -> None:
        """Hand the message in, and note that it was received."""
        if "received" not in happened(self._folder):
            await inbox.receive(
                InboundMessage(
                    channel="letters", chat="1", sender="me", text=QUESTION, external_id="1"
                )
            )
            note(self._folder, f"received: {QUESTION}")
        await anyio.sleep_forever()

    async def send(self, message: OutboundMessage) -> Delivery:
        """Note a reply."""
        note(self._folder, f"reply: {message.text}")
        return Delivery(external_ids=("1",))


class Model(ScriptedModel):
    """Stands for a model: look at the bill, pay it, and say what the tools said."""

    def __init__(self, folder: Path) -> None:
        super().__init__([self._answer], repeat=True)
        self._folder = folder

    def _answer(self, request: ChatRequest) -> Any:
        note(self._folder, "the model is asked")
        results = [result for message in request.messages for result in message.results]
        if not results:
            return Call("bill", of="baker")
        if len(results) == 1:
            return Call("pay", to="baker", amount="7.50")
        if results[1].error:
            told = results[1].text.removeprefix("Error: ").partition(". ")[0]
            return f"I am not sure that the baker was paid: {told[:1].lower()}{told[1:]}."
        return "The baker was paid."


async def host(folder: Path) -> None:
    """Be a host until the turn has ended, or somebody kills it."""
    hosts = HostFactory(folder)
    config = {"channels.letters.type": "letters"}
    async with (
        hosts(inline={"bakery": bakery(folder)}, model=Model(folder), config=config) as world,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(world.host.run_channel, "letters")
        while "reply" not in happened(folder) or await world.host.turns.services.store.open_turns():
            await anyio.sleep(0.02)
        tasks.cancel_scope.cancel()


def note(folder: Path, line: str) -> None:
    """Write down what really happened; it is on the disk when this returns."""
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(f"  {' '.join(line.split())}\n")
        log.flush()
        os.fsync(log.fileno())


def happened(folder: Path) -> str:
    """Return what has happened so far."""
    log = folder / LOG
    return log.read_text("utf-8") if log.exists() else ""


def story(folder: Path) -> Iterator[str]:
    """Let three hosts follow each other, and yield what they do."""
    for number, kill_at in enumerate(("bill of the baker: begins", "pay 7.50", ""), 1):
        before = len(happened(folder).splitlines())
        yield f"host {number} starts"
        process = subprocess.Popen([sys.executable, __file__, "--host", str(folder)])
        try:
            if kill_at:
                wait_for(kill_at, folder, before)
        finally:
            if kill_at:
                process.kill()
            code = process.wait(PATIENCE_S)
        yield from happened(folder).splitlines()[before:]
        yield f"host {number} {'was killed with kill -9' if kill_at else 'ended'} (status {code})"


def wait_for(line: str, folder: Path, before: int) -> None:
    """Wait until a line is written that a host has not written before."""
    end = time.monotonic() + PATIENCE_S
    while not any(line in said for said in happened(folder).splitlines()[before:]):
        if time.monotonic() > end:
            raise TimeoutError(f"never happened: {line}")
        time.sleep(0.01)


TEXT = """\
<!-- Generated by `make docs` from examples/kill_and_resume.py: run it, don't edit this page. -->
# Killed in the middle of a tool call

A host may die at any moment: the power goes, the kernel is short of memory, somebody types `kill
-9`. This page is written by `python examples/kill_and_resume.py`, which does just that while a tool
runs, twice, and lets the next host go on. Three hosts, one after the other, work on one folder;
what you read below is what their tools and their channel wrote down themselves.

The two tools. One says that it only reads, the other does not:

```python
{tools}
```

What happened:

```text
{story}
```

What to see in it:

- The message came in **once**. When the channel was told that it is received, it was on the disk,
  and its turn with it.
- Host 1 was killed while `bill` ran. It can do nothing but `read`, so host 2 ran it again: *attempt
  2*. The model was not asked for it again; its answer was on the disk.
- Host 2 was killed while `pay` ran. Nobody can know whether the money went out, so host 3 did
  **not** run it again. It told the model that the call may have run, and the model told the person.
  The bill was not looked up again either: its result was kept.
- The person got one reply.

A tool that can find out by itself what it did says `on_interrupt="reconcile"`: it runs again, with
the same `ctx.call.idempotency_key`. One that may safely run twice says `on_interrupt="rerun"`.
[What a turn writes down](journal.md) has the whole table, and [how a message becomes an
answer](turns.md) tells what becomes of replies.
"""


def page(told: list[str]) -> str:
    """Return the page."""
    source = inspect.getsource(bakery)
    first = source.index("    @plugin.tool")
    tools = inspect.cleandoc(source[first : source.index("    plugin.contribute")])
    # two empty lines between functions, as the formatter writes them on a page
    tools = tools.replace("\n\n@plugin", "\n\n\n@plugin")
    return TEXT.format(tools=tools, story="\n".join(told))


def main() -> int:
    """Show it, write it down, or tell whether what is written down is still so."""
    parser = argparse.ArgumentParser(description="Kill a host twice, and let the next one go on.")
    parser.add_argument("--host", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("--check", action="store_true", help="tell whether that page is right")
    options = parser.parse_args()
    if options.host is not None:
        anyio.run(host, options.host)
        return 0
    with tempfile.TemporaryDirectory(prefix="pegboard-killed-") as folder:
        told = []
        for line in story(Path(folder)):
            told.append(line)
            if not (options.write or options.check):
                print(line, flush=True)
    if options.write:
        PAGE.write_text(page(told), encoding="utf-8")
    if options.check and PAGE.read_text("utf-8") != page(told):
        print(f"{PAGE.relative_to(ROOT)} is stale: run `make docs`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
