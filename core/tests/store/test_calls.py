from __future__ import annotations

import pytest

from pegboard.contracts.errors import StoreError

pytestmark = pytest.mark.anyio


@pytest.fixture
async def running(store, make):
    await store.ingest(make.incoming("t1"))
    await store.begin("t1", now=2.0, max_attempts=3)
    return store


async def calls(store):
    return (await store.begun("t1")).calls


async def test_a_call_is_kept_as_it_was_meant(running, make):
    meant = make.tool_call(
        "a",
        effects=frozenset({"read", "net_read"}),
        on_interrupt="reconcile",
        idempotency_key="t1:a",
        attempt=2,
    )
    unknown = make.tool_call("b")
    nothing = make.tool_call("c", effects=frozenset())
    await running.intend("t1", 1, [meant, unknown, nothing])
    assert list((await calls(running)).values()) == [meant, unknown, nothing]


async def test_a_result_is_kept_once(running, make):
    await running.intend("t1", 1, [make.tool_call("a")])
    await running.record("t1", 1, "a", {"text": "first"})
    await running.record("t1", 1, "a", {"text": "second"})
    assert (await calls(running))["a"].result == {"text": "first"}


async def test_a_result_needs_an_intent(running):
    with pytest.raises(StoreError, match="has no call a: a result needs an intent") as raised:
        await running.record("t1", 1, "a", {})
    assert raised.value.fix == "call Store.intend before Store.record"


async def test_a_call_may_be_written_with_its_result_beside_others(running, make):
    model = make.tool_call("model:1", kind="model", result={"text": "answer"})
    await running.intend("t1", 1, [model, make.tool_call("a")])
    found = await calls(running)
    assert found["model:1"].result == {"text": "answer"} and found["a"].result is None


async def test_a_known_call_begins_its_next_attempt(running, make):
    await running.intend("t1", 1, [make.tool_call("a")])
    await running.intend("t1", 1, [make.tool_call("a", idempotency_key="k")])
    call = (await calls(running))["a"]
    assert (call.attempt, call.idempotency_key, call.result) == (2, "k", None)
    await running.intend("t1", 1, [make.tool_call("a", attempt=7)])
    assert (await calls(running))["a"].attempt == 7


async def test_a_finished_call_is_left_as_it_is(running, make):
    await running.intend("t1", 1, [make.tool_call("a", result={"text": "x"})])
    await running.intend("t1", 1, [make.tool_call("a")])
    call = (await calls(running))["a"]
    assert (call.attempt, call.result) == (1, {"text": "x"})


async def test_another_call_under_a_finished_one_s_id_is_refused_with_all_beside_it(running, make):
    await running.intend("t1", 1, [make.tool_call("a", result={"text": "x"})])
    other = make.tool_call("a", name="shell.run", digest="other")
    with pytest.raises(StoreError, match="has finished under the id a"):
        await running.intend("t1", 1, [make.tool_call("b"), other])
    assert list(await calls(running)) == ["a"]


async def test_another_call_under_an_interrupted_one_s_id_replaces_it(running, make):
    await running.intend("t1", 1, [make.tool_call("a"), make.tool_call("a")])
    other = make.tool_call("a", name="shell.run", digest="other")
    await running.intend("t1", 1, [other])
    assert (await calls(running))["a"] == other


async def test_the_provider_s_state_is_dropped_when_the_turn_ends(running, make):
    state = {"text": "a\ud800\0", "state": {"opaque": "x" * 100}, "n": 1.5}
    await running.intend(
        "t1",
        1,
        [
            make.tool_call("model:1", kind="model", result=state),
            make.tool_call("model:2", kind="model"),
            make.tool_call("a", result=state),
        ],
    )
    await running.finish("t1", 1, state="done", now=3.0)
    found = await calls(running)
    assert found["model:1"].result == {"text": "a\ud800\0", "n": 1.5}
    assert found["model:2"].result is None
    assert found["a"].result == state
