"""What a turn has called is known to its next attempt."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from pegboard.contracts.blob import BlobRef
from pegboard.contracts.journal import Answered
from pegboard.contracts.provider import ChatRequest, Done, ProviderState
from pegboard.contracts.result import AddTools, File, Image, Suspend, Text, ToolResult
from pegboard.contracts.store import FencedError
from pegboard.contracts.turn import Begun
from pegboard.testing.model import Call, ScriptedModel
from pegboard.turns.call_form import SPILL_BYTES
from pegboard.turns.journal import digest_of

pytestmark = pytest.mark.anyio
WORLD = Path(__file__).with_name("journal_world.py")
loaded = SimpleNamespace(**runpy.run_path(str(WORLD)))


@pytest.fixture
def world(tmp_path):
    return loaded.World(tmp_path)


@pytest.fixture
def ran(world):
    """Tools, and what they did."""
    ran = []

    def note(ctx, what):
        ran.append((what, ctx.call.attempt, ctx.call.idempotency_key))

    @world.add(effects={"read", "net_read"}, outside=False)
    async def look(ctx, name: str = "") -> str:
        """Look."""
        note(ctx, f"look{name}")
        return "seen"

    @world.add(effects={"fs_write"})
    async def put(ctx, name: str = "") -> str:
        """Write."""
        note(ctx, f"put{name}")
        return f"written{name}"

    @world.add(effects={"exec"}, on_interrupt="rerun")
    async def again(ctx) -> str:
        """Do what may be done twice."""
        note(ctx, "again")
        return "done"

    @world.add(effects={"net_write"}, on_interrupt="reconcile")
    async def pay(ctx) -> str:
        """Pay."""
        note(ctx, "pay")
        return "paid"

    @world.add(effects={"read"}, on_interrupt="tell")
    async def dear(ctx) -> str:
        """Read something dear."""
        note(ctx, "dear")
        return "read"

    @world.add(effects=None)
    async def unknown(ctx) -> str:
        """Do nobody knows what."""
        note(ctx, "unknown")
        return "?"

    return ran


async def interrupted(world, name, arguments="{}"):
    """Begin a call and let its host die while it runs."""
    async with world.attempt():
        await world.journal.known("c1", name, arguments)
        tool = world.registry.find(name)
        await world.journal.intent("c1", tool, {}, tool.spec.effects or frozenset({"exec"}))


@pytest.mark.parametrize("name", ["look", "put", "again", "pay", "dear", "unknown"])
async def test_a_finished_call_is_not_run_again(world, ran, name):
    async with world.attempt():
        first = await world.call(name)
    async with world.attempt():
        second = await world.call(name)
    assert second.output == first.output
    assert second.details == {"replayed": True}
    assert len(ran) == 1


@pytest.mark.parametrize("name", ["look", "again", "pay"])
async def test_an_interrupted_call_that_may_be_repeated_runs_again(world, ran, name):
    await interrupted(world, name)
    async with world.attempt():
        assert (await world.call(name)).error is None
    assert ran == [(name, 2, "t1:c1")]
    async with world.attempt() as begun:
        assert begun.calls["c1"].attempt == 2
        assert (await world.call(name)).details == {"replayed": True}
    assert len(ran) == 1


@pytest.mark.parametrize("name", ["put", "dear", "unknown"])
async def test_of_another_interrupted_call_the_model_is_told(world, ran, name):
    await interrupted(world, name)
    for _ in range(2):
        async with world.attempt():
            result = await world.call(name)
        assert result.error is not None
        assert result.error.code == "interrupted"
        assert "may have run" in result.error.message
        assert "Look at what it has done" in (result.error.fix or "")
    assert ran == []


async def test_a_cancelled_call_counts_as_interrupted(world, ran):
    @world.add(effects={"exec"})
    async def wait(ctx) -> str:
        """Wait."""
        await anyio.sleep_forever()
        return ""

    async with world.attempt():
        with anyio.move_on_after(0.05):
            await world.call("wait")
    async with world.attempt():
        assert (await world.call("wait")).error.code == "interrupted"


async def test_a_call_that_ended_is_recorded_also_when_the_turn_is_cancelled_then(world, ran):
    async with world.attempt():
        with anyio.CancelScope() as scope:
            tool = world.registry.find("put")
            await world.journal.known("c1", "put", "{}")
            await world.journal.intent("c1", tool, {}, tool.spec.effects)
            scope.cancel()
            await world.journal.result("c1", ToolResult("written"))
    async with world.attempt():
        assert (await world.call("put")).output == "written"


async def test_another_call_under_the_same_id_is_noticed_and_runs(world, ran, caplog):
    async with world.attempt():
        await world.call("put", '{"name": "a"}')
    async with world.attempt():
        assert (await world.call("put", '{"name": "b"}')).output == "writtenb"
        assert "is not the one that is recorded" in caplog.text
    async with world.attempt():
        assert (await world.call("put", '{"name": "a"}')).output == "writtena"
    async with world.attempt():
        assert (await world.call("put", '{"name": "b"}')).output == "writtenb"
    second = digest_of("put", '{"name": "b"}')
    assert [(what, key) for what, _, key in ran] == [
        ("puta", "t1:c1"),
        ("putb", f"t1:c1~{second[:12]}"),
    ]


async def test_arguments_are_the_same_in_any_order_of_their_keys():
    assert digest_of("a", {"x": 1, "y": "é"}) == digest_of("a", {"y": "é", "x": 1})
    assert digest_of("a", {"x": 1}) != digest_of("a", {"x": True})
    assert digest_of("a", "{}") != digest_of("b", "{}")
    assert digest_of("a", {"x": "\ud800"}) == digest_of("a", {"x": "\ud800"})
    circle = {}
    circle["x"] = circle
    assert digest_of("a", circle) == digest_of("a", circle)


@pytest.mark.parametrize(
    "result",
    [
        ToolResult("text \x00 \ud800 é"),
        ToolResult("x", structured={"a": [1, 2.5, None, True]}, details={"diff": "+a"}),
        ToolResult.failed("not_found", "No.", fix="Look.", retryable=True, outside=True),
        ToolResult("x", control=AddTools(("a", "b")), outside=False),
        ToolResult(
            [Text("a"), Image(BlobRef("i", "image/png", 3), "alt"), File(BlobRef("f", "a/b", 4))],
            artifacts=(BlobRef("x", "text/plain", 9, "x.txt"),),
        ),
    ],
)
async def test_a_result_comes_back_as_it_was(world, ran, result):
    async with world.attempt():
        await world.journal.known("c1", "put", "{}")
        tool = world.registry.find("put")
        await world.journal.intent("c1", tool, {}, tool.spec.effects)
        await world.journal.result("c1", result)
    async with world.attempt():
        known = await world.journal.known("c1", "put", "{}")
    assert known.details.pop("replayed")
    if isinstance(result.output, list):
        result.output = tuple(result.output)
    assert known == result


async def test_what_no_json_can_say_is_left_out_of_a_result(world, ran):
    async with world.attempt():
        await world.journal.known("c1", "put", "{}")
        tool = world.registry.find("put")
        await world.journal.intent("c1", tool, {}, tool.spec.effects)
        odd = ToolResult("x", details={1: "one", "path": Path("a")}, artifacts=("no blob",))
        await world.journal.result("c1", odd)
    async with world.attempt():
        known = await world.journal.known("c1", "put", "{}")
    assert known.output == "x"
    assert known.details == {"1": "one", "path": "a", "replayed": True}


async def test_a_call_that_waits_for_a_person_has_no_result(world, ran):
    async with world.attempt() as begun:
        await world.journal.known("c1", "look", "{}")
        tool = world.registry.find("look")
        await world.journal.intent("c1", tool, {}, tool.spec.effects)
        await world.journal.result("c1", ToolResult(control=Suspend("May I?")))
        # agreed: the same call comes again
        assert (await world.call("look")).output == "seen"
        assert (await world.store.begun("t1")).calls["c1"].result["result"]["output"] == "seen"
    assert begun.calls == {}


async def test_a_large_result_is_kept_as_a_blob(world, ran):
    large = {"text": "\ud800" + "x" * SPILL_BYTES}
    async with world.attempt():
        await world.journal.known("c1", "put", "{}")
        tool = world.registry.find("put")
        await world.journal.intent("c1", tool, {}, tool.spec.effects)
        await world.journal.result("c1", ToolResult("x", structured=large))
    async with world.attempt() as begun:
        kept = begun.calls["c1"].result
        assert kept["result"]["spilled"]["size"] > SPILL_BYTES
        assert len(json.dumps(kept)) < 1000
        known = await world.journal.known("c1", "put", "{}")
        assert known.structured == large


@pytest.mark.parametrize("how", ["gone", "cut"])
async def test_a_result_whose_blob_is_lost_is_not_got_by_running_the_call_again(world, ran, how):
    async with world.attempt():
        await world.journal.known("c1", "put", "{}")
        tool = world.registry.find("put")
        await world.journal.intent("c1", tool, {}, tool.spec.effects)
        await world.journal.result("c1", ToolResult("x", structured="x" * SPILL_BYTES))
    (blob,) = (path for path in (world.folder / "blobs").rglob("*") if path.is_file())
    blob.unlink() if how == "gone" else blob.write_bytes(b"{")
    async with world.attempt():
        result = await world.call("put")
    assert result.error.code == "interrupted"
    assert "its result is no longer kept" in result.error.message
    assert ran == []


async def test_a_cut_result_can_be_recalled_after_a_restart(world):
    @world.add(effects={"read"})
    async def long() -> str:
        """Return much."""
        return "\n".join(f"line {n}" for n in range(20_000))

    async with world.attempt():
        await world.call("long", id="c1")
    async with world.attempt():
        result = await world.call(
            "tool_result_recall", '{"call_id": "c1", "query": "line 9999"}', id="c2"
        )
        assert "10000: line 9999" in result.output


async def test_calls_of_a_tool_are_found_again_in_any_order(world, ran):
    order = ["a", "b", "a"]

    @world.add(effects={"read"})
    async def several(ctx) -> str:
        """Write several things."""
        results = [await ctx.invoke("put", {"name": name}) for name in order]
        if len(ran) < 4:
            raise SystemExit  # the host dies here
        return " ".join(result.text for result in results)

    async with world.attempt():
        await world.call("several")
    async with world.attempt() as begun:
        # as if the host had died before the result of the outer call was written
        without = {id: call for id, call in begun.calls.items() if id != "c1"}
        order[:] = ["b", "c", "a", "a"]
        world.use(world.store, Begun(turn=begun.turn, calls=without))
        assert (await world.call("several")).output == "writtenb writtenc writtena writtena"
    assert [what for what, *_ in ran] == ["puta", "putb", "puta", "putc"]
    assert len({key for *_, key in ran}) == 4


async def test_a_model_answer_comes_back_as_it_was(world):
    state = ProviderState("p", "d", "m", "r", {"items": [1, "\ud800"]})
    done = Done(stop="max_tokens", text="Hm\x00", state=state, raw_stop="length")
    answer = Answered(done=done, hop="groq", model="m1")
    async with world.attempt():
        assert await world.journal.answered(1) is None
        await world.journal.done(1, answer, request=ChatRequest(), results={})
    async with world.attempt() as begun:
        assert await world.journal.answered(1) == answer
        assert await world.journal.answered(2) is None
        record = begun.calls["model:1"]
        assert (record.kind, record.name, record.attempt) == ("model", "m1", 1)
        assert record.result["ended"] >= record.result["began"] > 0
        await world.store.finish("t1", begun.turn.fence, state="done", now=loaded.NOW)
        over = (await world.store.begun("t1")).calls["model:1"].result
        assert over["done"]["text"] == "Hm\x00"
        assert "state" not in over


async def test_a_large_state_is_kept_as_a_blob_and_the_run_does_without_when_it_is_lost(world):
    state = ProviderState("p", "d", "m", "r", "x" * SPILL_BYTES)
    answer = Answered(done=Done(text="Yes", state=state), hop="groq")
    async with world.attempt():
        await world.journal.done(1, answer, request=ChatRequest(), results={})
    async with world.attempt():
        assert await world.journal.answered(1) == answer
    for blob in (world.folder / "blobs").rglob("*"):
        if blob.is_file():
            blob.unlink()
    async with world.attempt():
        found = await world.journal.answered(1)
        assert (found.done.text, found.done.state) == ("Yes", None)


async def test_what_was_refused_is_not_judged_again_once_the_model_was_told(world, ran):
    guest = loaded.Caller(trust="guest", origin="person")
    owner, world.caller = world.caller, guest
    async with world.attempt():
        model = ScriptedModel([Call("put"), Call("look")])
        # the host dies after the model was told that it may not write
        with pytest.raises(FencedError):
            await world.run(model, prepare=_stop_at(world, 3))
    world.caller = owner  # meanwhile it may
    async with world.attempt():
        result = await world.run(ScriptedModel(["Well."]))
    assert result.text == "Well."
    first = result.messages[1].results[0]
    assert first.error
    assert not any(what == "put" for what, *_ in ran)


async def test_what_was_refused_is_judged_again_while_nobody_was_told(world, ran):
    guest = loaded.Caller(trust="guest", origin="person")
    owner, world.caller = world.caller, guest
    async with world.attempt():
        with pytest.raises(FencedError):
            await world.run(ScriptedModel([Call("put")]), prepare=_stop_at(world, 2))
    world.caller = owner
    async with world.attempt():
        result = await world.run(ScriptedModel(["Well."]))
    assert result.messages[1].results[0].text == "written"


def _stop_at(world, step):
    async def prepare(request, number):
        if number == step:
            raise FencedError("stopped here")
        return request

    return prepare


@pytest.mark.parametrize("verb", ["intent", "result", "answer"])
async def test_an_attempt_that_lost_its_turn_ends_at_once(world, ran, tmp_path, verb):
    @world.add(effects={"read"})
    async def lose() -> str:
        """Let another host take the turn."""
        await take_over()
        return "x"

    async def take_over():
        world.store._attempts.clear()  # as if this host had died
        assert isinstance(await world.store.begin("t1", now=loaded.NOW, max_attempts=9), Begun)

    async def prepare(request, step):
        if (verb, step) == ("answer", 1):
            await take_over()
        return request

    model = ScriptedModel([Call("lose") if verb == "result" else Call("put"), "Never."])
    async with world.attempt():
        if verb == "intent":
            await world.journal.answered(1)
            await take_over()
            with pytest.raises(FencedError):
                await world.call("put")
        else:
            with pytest.raises(FencedError):
                await world.run(model, prepare=prepare)
    assert ran == []


def attempt_in_a_process(folder, crash=""):
    """Take the turn up in a process, which may kill itself; return what it printed, or None."""
    ended = subprocess.run(
        [sys.executable, WORLD, folder],
        env={**os.environ, "PEGBOARD_CRASH": crash},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if ended.returncode == -signal.SIGKILL:
        return None
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


POINTS = [
    "intend:before:1",
    *(f"intend:after:{n}" for n in range(1, 10)),  # it is about to run, and has not
    *(f"record:before:{n}" for n in range(1, 7)),  # it has run, and nobody knows
    "finish:before:1",
]


@pytest.mark.parametrize("point", POINTS)
def test_a_turn_that_is_killed_anywhere_ends_as_if_it_had_not_been(tmp_path, point):
    assert attempt_in_a_process(tmp_path, point) is None
    outcome = attempt_in_a_process(tmp_path)
    assert outcome["text"] == "All done."
    assert outcome["steps"] == 3
    lines = (tmp_path / "log").read_text().splitlines()
    counts = Counter(line.rsplit(" ", 1)[0] for line in lines if line.startswith("put"))
    told = " ".join(outcome["told"])
    # what writes was never begun twice: it ran, or the model knows that it may not have
    assert all(count == 1 for count in counts.values()), counts
    assert counts["put b"] == 1 or "may have run" in told
    assert "saw a" in told
    assert "paid" in told
    assert len({line for line in lines if line.startswith("pay")}) == 1
    asked = Counter(line for line in lines if line.startswith("asked"))
    assert sum(asked.values()) <= 4  # at most the one that was under way is asked again
