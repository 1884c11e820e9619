"""The model is told once that a command has ended while it did something else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from pegboard.testing import Call, HostFactory, HostUnderTest, ScriptedModel

pytestmark = pytest.mark.anyio
CONFIG = {"sandboxes.local": {"allow_unconfined_shell": True}}
MEANWHILE = "[Meanwhile: "
UNTIL_S = 30.0


def background(command: str, **more: object) -> Call:
    return Call("shell", command=command, background=True, **more)


def told(model: ScriptedModel, request: int = -1) -> list[str]:
    """Return what a request tells of meanwhile."""
    texts = [
        part.text
        for message in model.requests[request].messages
        for part in (*message.parts, *(part for it in message.results for part in it.parts))
        if hasattr(part, "text")
    ]
    return [text for text in texts if text.startswith(MEANWHILE)]


async def until_left(running: HostUnderTest, count: int = 1) -> None:
    """Wait until news are there for the conversation."""
    (talk,) = await running.host.parts.store.conversations()
    with anyio.fail_after(UNTIL_S):
        while len(await running.host.parts.news.due(talk.key, "operator")) < count:
            await anyio.sleep(0.02)


async def test_it_is_told_at_the_next_step_of_the_turn(host: HostFactory) -> None:
    model = ScriptedModel(
        [
            background("read x < go; exit 3", description="Wait"),
            Call("shell", command="mkfifo go2; echo > go; until test -e seen; do sleep 0.02; done"),
            "It failed.",
            "Yes.",
        ]
    )
    async with host("shell", "sandbox-local", model=model, config=CONFIG, record=False) as running:
        await running.call("shell", command="mkfifo go")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(running.ask, "Begin")
            with anyio.fail_after(UNTIL_S):
                while not (running.workspace / "go2").exists():
                    await anyio.sleep(0.02)
            await until_left(running)
            (running.workspace / "seen").touch()
        assert told(model, 1) == []
        (line,) = told(model, 2)
        assert line.startswith(
            "[Meanwhile: The background command p1 (Wait) ended: exit code 3, "
        ), line
        assert line.endswith('s. See what it wrote: process(action="log", handle="p1")]')
        await running.ask("Still?")
        assert told(model) == [line]  # in the history, and no second time


async def test_without_a_turn_it_is_told_with_the_next_message_of_that_conversation_alone(
    host: HostFactory,
) -> None:
    model = ScriptedModel([background("read x < go; kill -9 $$"), "Begun.", "Other.", "Gone."])
    async with host("shell", "sandbox-local", model=model, config=CONFIG, record=False) as running:
        await running.call("shell", command="mkfifo go")
        await running.ask("Begin")
        await running.call("shell", command="echo > go")
        await until_left(running)
        await running.ask("Hello", chat="other")
        assert told(model) == []
        await running.ask("And?")
        (line,) = told(model)
        assert "p1 (read x < go; kill -9 $$) ended: ended by signal 9 (SIGKILL), " in line


@pytest.mark.parametrize(
    "look",
    [
        (
            Call("shell", command="echo > go"),
            Call("process", action="log", handle="p1", wait_ms=20_000),
        ),
        (Call("process", action="kill", handle="p1"), Call("process", action="list")),
    ],
)
async def test_who_has_looked_is_not_told(host: HostFactory, look: tuple[Call, ...]) -> None:
    model = ScriptedModel([background("read x < go"), [*look], "Looked.", "Yes."])
    async with host("shell", "sandbox-local", model=model, config=CONFIG, record=False) as running:
        await running.call("shell", command="mkfifo go")
        await running.ask("Begin")
        await running.ask("Still?")
        assert "p1 ended: " in str(model.requests[2].messages)
        assert told(model) == []


async def test_what_ends_at_once_is_told_by_its_own_result(host: HostFactory) -> None:
    model = ScriptedModel([background("exit 4"), "Failed.", "Yes."])
    async with host("shell", "sandbox-local", model=model, config=CONFIG, record=False) as running:
        await running.ask("Begin")
        await running.ask("Still?")
        assert told(model) == []


async def test_what_the_host_ended_is_told_by_the_next_host(host: HostFactory) -> None:
    first = ScriptedModel([background("sleep 600"), "Begun."])
    async with host("shell", "sandbox-local", model=first, config=CONFIG, record=False) as running:
        await running.ask("Begin")
    second = ScriptedModel(["Oh."])
    async with host("shell", "sandbox-local", model=second, config=CONFIG, record=False) as running:
        await running.ask("Still there?")
    (line,) = told(second)
    begins = "[Meanwhile: The background command p1 (sleep 600) was ended: "
    assert line == f"{begins}the sandbox was closed while the command ran.]"


async def test_a_terminal_tells_as_well(host: HostFactory) -> None:
    model = ScriptedModel(
        [Call("terminal", action="create", command="read x; exit 5", wait_ms=0), "Begun.", "Over."]
    )
    async with host("shell", "sandbox-local", model=model, config=CONFIG, record=False) as running:
        await running.ask("Begin")
        table = running.host.activator.active("shell").context.state
        (handle,) = [found for own in table._owned.values() for found in own.values()]
        await handle.process.write(b"\r")
        await until_left(running)
        await running.ask("And?")
        (line,) = told(model)
        assert "The terminal t1 (read x; exit 5) ended: exit code 5" in line


def test_what_went_down_with_a_host_that_was_killed_is_told_once(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PEGBOARD")}
    program = Path(__file__).with_name("killed_shell.py")
    ran = [
        subprocess.run(
            [sys.executable, str(program), str(tmp_path)],
            env=kept,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        for _ in range(2)
    ]
    assert [one.returncode for one in ran] == [-signal.SIGKILL, 0], [one.stderr for one in ran]
    line = (
        "[Meanwhile: The background command p1 (sleep 600) ended: the host that ran it was killed.]"
    )
    assert json.loads(ran[1].stdout) == [
        ["busy", [line]],  # the turn that went on, at its next step
        ["quiet", [line]],  # with the next message
        ["busy", [line]],  # of the history
    ]
