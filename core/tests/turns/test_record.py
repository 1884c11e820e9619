"""A turn as a file, and the file run again."""

from __future__ import annotations

import json
import runpy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pegboard.agent.recording import Recording, read_recording
from pegboard.agent.replay import replay
from pegboard.contracts.errors import UsageError
from pegboard.contracts.message import Message
from pegboard.contracts.result import Text, ToolResult
from pegboard.contracts.store import FencedError
from pegboard.contracts.wire import MESSAGE
from pegboard.policy.redaction import Redactor
from pegboard.testing.model import Call, Fail, ScriptedModel
from pegboard.testing.recorder import Recorder
from pegboard.turns.record import latest_turn, record

pytestmark = pytest.mark.anyio
loaded = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("journal_world.py"))))
SECRET = "swordfish-and-more"


@pytest.fixture
def world(tmp_path):
    world = loaded.World(tmp_path)

    @world.add(effects={"read"})
    async def look(name: str) -> str:
        """Look at something."""
        return f"saw {name}"

    @world.add(effects={"net_read"})
    async def fetch() -> str:
        """Get a page."""
        return "a page"

    @world.add(effects={"read"})
    async def both(ctx) -> str:
        """Look at two things."""
        for name in "ab":
            await ctx.invoke("look", {"name": name})
        return "both"

    return world


async def turn(world, script, *, text="Go.", state="done", error=None, **facts):
    """Run a turn to its end and return its recording."""
    redactor = facts.pop("redactor", Redactor())
    async with world.attempt() as begun:
        result = await world.run(ScriptedModel(script), **facts)
        messages = [Message.of("user", "Go."), *result.messages]
        await world.store.finish(
            "t1",
            begun.turn.fence,
            state=state if result.error is None else "failed",
            now=loaded.NOW + 60,
            messages=[MESSAGE.write(message) for message in messages],
            error=error or result.error,
        )
        assert await latest_turn(world.store) == "t1"
        return await record(
            world.store,
            "t1",
            world.blobs,
            redact=redactor.data,
            pegboard="1.0",
            plugins={"demo": "2.0"},
        )


SCRIPT = [
    ["Let me look.", Call("look", name="x"), Call("nothing"), Call("fetch")],
    Call("both"),
    "All seen.",
]


async def test_a_recording_holds_what_happened(world):
    recording = await turn(world, SCRIPT)
    assert (recording.turn, recording.state, recording.conversation) == ("t1", "done", "desk/1")
    assert (recording.message.text, recording.caller) == ("Go.", loaded.OWNER)
    assert (recording.pegboard, recording.plugins) == ("1.0", {"demo": "2.0"})
    assert [message.text for message in recording.start] == ["Be brief.", "Go."]
    first, second, third = recording.steps
    assert [call.id for call in first.calls] == ["call-1", "call-2", "call-3"]
    assert first.calls[0].result == ToolResult("saw x")
    assert first.calls[0].tool == "demo:look"
    assert first.calls[1].result.error.code == "not_found"
    assert first.calls[1].tool == ""
    assert [(call.id, call.name, call.arguments) for call in second.calls] == [
        ("call-4", "both", "{}"),
        ("call-4.1", "look", '{"name": "a"}'),
        ("call-4.2", "look", '{"name": "b"}'),
    ]
    assert third.answer.done.text == "All seen."
    assert [len(step.asked) for step in recording.steps] == [2, 4, 6]
    assert first.answer.done.state is None
    assert first.ended >= first.began > 0


async def test_a_recording_comes_back_from_its_file(world, tmp_path):
    recording = await turn(world, SCRIPT)
    file = tmp_path / "run.json"
    file.write_text(recording.text())
    assert read_recording(file) == recording


async def test_a_replay_is_the_run_again(world):
    recording = await turn(world, SCRIPT)
    recorder = Recorder()
    replayed = await replay(recording, emit=recorder)
    assert replayed.differences == ()
    assert (replayed.text, replayed.status, replayed.steps) == ("All seen.", "done", 3)
    assert recorder.types().count("tool_finished") == 4
    durations = [e.duration_ms for e in recorder.stream if e.type == "tool_finished"]
    calls = [call for step in recording.steps for call in step.calls if "." not in call.id]
    expected = [max(0.0, (call.ended - call.began) * 1000) for call in calls]
    # calls made side by side share one recorded clock, so no more than this can be said of each
    assert len(durations) == len(expected)
    assert all(0 <= duration <= max(expected) + 5 for duration in durations)


async def test_a_long_system_message_is_part_of_the_recording(world, monkeypatch):
    long = Message.of("system", "Be brief. " * 100)
    monkeypatch.setitem(loaded.World.run.__globals__, "SYSTEM", long)
    recording = await turn(world, ["Yes."])
    assert recording.start[0] == long
    for blob in (world.folder / "blobs").rglob("*"):
        if blob.is_file():
            blob.unlink()
    async with world.opened() as store:
        again = await record(
            store, "t1", world.blobs, redact=lambda data: data, pegboard="", plugins={}
        )
    assert again.start[0] is None
    assert (await replay(again)).differences == ()


async def test_secrets_are_not_in_a_recording(world):
    @world.add(effects={"read"})
    async def tell() -> str:
        """Tell a secret."""
        return f"it is {SECRET}"

    redactor = Redactor()
    redactor.learn(SECRET)
    recording = await turn(
        world, [Call("tell"), Call("look", name=SECRET), "Fine."], redactor=redactor
    )
    assert SECRET not in recording.text()
    assert "it is [redacted]" in recording.text()
    assert (await replay(recording)).differences == ()
    assert recording.steps[1].asked[-1] is None


async def test_a_failed_turn_fails_again(world):
    recording = await turn(world, [Call("look", name="x"), Fail("billing", "No money left.")])
    assert recording.state == "failed"
    replayed = await replay(recording)
    assert replayed.differences == ()
    assert replayed.status == "failed"
    assert replayed.text == recording.error["message"]


@pytest.mark.parametrize(
    ("script", "facts", "code"),
    [
        ([Call("look", name="x")] * 5, {}, "repetition"),
        ([Call("look", name="x"), Call("look", name="y")], {"max_steps": 2}, "step_limit"),
        ([Call("look", name="x"), ""], {}, "empty_completion"),
    ],
)
async def test_limits_are_reached_again(world, script, facts, code):
    recording = await turn(world, script, **facts)
    assert recording.error["code"] == code
    replayed = await replay(recording)
    assert replayed.differences == ()
    assert replayed.text == recording.error["message"]


async def test_a_turn_that_was_cut_off_is_run_as_far_as_it_is_known(world):
    async with world.attempt() as begun:
        with pytest.raises(FencedError):
            await world.run(ScriptedModel([Call("look", name="x"), "Never."]), prepare=stop_at(2))
        await world.store.finish("t1", begun.turn.fence, state="cancelled", now=loaded.NOW)
        recording = await record(
            world.store, "t1", world.blobs, redact=lambda data: data, pegboard="", plugins={}
        )
    assert (len(recording.steps), recording.state) == (1, "cancelled")
    replayed = await replay(recording)
    assert (replayed.status, replayed.differences, replayed.steps) == ("cut", (), 2)


def stop_at(step):
    async def prepare(request, number):
        if number == step:
            raise FencedError("stopped here")
        return request

    return prepare


async def test_what_a_plugin_changed_in_a_request_is_not_compared(world):
    async def prepare(request, step):
        return replace(request, messages=(*request.messages, Message.of("system", f"Step {step}")))

    recording = await turn(world, [Call("look", name="x"), "Seen."], prepare=prepare)
    assert recording.steps[1].asked is None
    assert (await replay(recording)).differences == ()


async def test_a_replay_says_where_it_is_not_as_the_recording(world):
    recording = await turn(world, SCRIPT)
    step = recording.steps[1]
    told = step.asked[3]
    other = replace(told, results=(replace(told.results[0], parts=(Text("saw y"),)),))
    changed = replace(step, asked=(*step.asked[:3], other, *step.asked[4:]))
    replayed = await replay(replace(recording, steps=(recording.steps[0], changed)))
    (difference,) = replayed.differences
    assert difference.where == "step 2, message 4"
    assert "saw x" in difference.asked
    assert "saw y" in difference.recorded


async def test_a_run_that_goes_on_or_ends_earlier_is_a_difference(world):
    recording = await turn(world, SCRIPT)
    shorter = replace(recording, steps=recording.steps[:2])
    (difference,) = (await replay(shorter)).differences
    assert (difference.where, difference.recorded) == ("step 3", "the run had ended")
    limited = replace(recording, max_steps=2)
    (difference,) = (await replay(limited)).differences
    assert difference.where == "the end"
    assert "step limit" in difference.asked


async def test_tools_can_be_run_for_real_and_compared(world):
    recording = await turn(world, SCRIPT)
    world.scope.journal = None

    async def run_call(call):
        return await world.call(call.name, call.arguments, id=call.id)

    assert (await replay(recording, run_call=run_call)).differences == ()

    async def other(call):
        return ToolResult("something else")

    replayed = await replay(recording, run_call=other)
    assert replayed.text == "All seen."
    assert [difference.where.split()[1] for difference in replayed.differences] == [
        "call-1", "call-3", "call-4",
    ]  # fmt: skip


async def test_there_must_be_such_a_turn(world):
    async with world.opened() as store:
        with pytest.raises(UsageError, match="no turn t9"):
            await record(store, "t9", world.blobs, redact=dict, pegboard="", plugins={})
        with pytest.raises(UsageError, match="No turn has ended"):
            await latest_turn(store)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "no JSON"),
        ("[]", "no recording"),
        ("{}", "no recording"),
        ('{"pegboard_recording": 99}', "format 99"),
        ('{"pegboard_recording": 1}', "can't be read"),
    ],
)
async def test_another_file_is_refused(tmp_path, content, why):
    file = tmp_path / "run.json"
    file.write_text(content)
    with pytest.raises(UsageError, match=why):
        read_recording(file)


async def test_a_damaged_recording_is_refused(world):
    data = json.loads((await turn(world, ["Yes."])).text())
    data["steps"][0]["answer"]["stop"] = "never"
    with pytest.raises(UsageError, match="'never'"):
        Recording.from_dict(data)


async def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        read_recording(tmp_path / "gone.json")
