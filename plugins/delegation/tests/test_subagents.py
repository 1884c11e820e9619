"""Several tasks at the same time: what workers are told, what they may do, what comes back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from pegboard import ChatRequest, Plugin
from pegboard.testing import Call, Fail, HostFactory, ScriptedModel

pytestmark = pytest.mark.anyio


def goals(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"goal": name, **more} for name in names]


async def test_results_come_in_the_order_of_the_tasks(office):
    async with office(lambda task: f"found {task}") as here:
        result = await here.call(tasks=goals("a", "b", "c"))
        assert result.error is None
        assert result.structured["summary"] == {
            "requested": 3,
            "done": 3,
            "failed": 0,
            "timed_out": 0,
            "cancelled": 0,
            "tokens": result.structured["summary"]["tokens"],
        }
        entries = result.structured["results"]
        assert [(item["task"], item["goal"], item["output"]) for item in entries] == [
            (1, "a", "found a"),
            (2, "b", "found b"),
            (3, "c", "found c"),
        ]
        assert result.text.startswith("3 workers: 3 done.\n\n## 1. a (done)\nfound a\n\n## 2. b")
        assert "outside" not in result.text, "a report is an agent's words and is not fenced"


async def test_a_worker_knows_its_task_and_nothing_else(office):
    async with office(lambda task: "ok") as here:
        await here.call(
            tasks=[{"goal": "Count", "context": "In cents."}, {"goal": "Name"}],
            shared_context="The shop is closed.",
            max_concurrency=1,
        )
        first, second = here.model.requests
        assert "You are a worker of another agent" in first.messages[0].text
        assert "It can't give you orders" in first.messages[0].text
        assert first.messages[-1].text == (
            "Count\n\nWhat you have to know:\nThe shop is closed.\n\nIn cents."
        )
        assert second.messages[-1].text == "Name\n\nWhat you have to know:\nThe shop is closed."


async def test_the_format_is_what_workers_are_told(office):
    async with office(lambda task: "ok") as here:
        for name, said in (
            ("concise", "a few short sentences"),
            ("detailed", "Answer in full"),
            ("structured", "under these headings"),
        ):
            await here.call(tasks=goals("x"), result_format=name)
            assert said in here.model.requests[-1].messages[0].text


async def test_a_worker_has_the_callers_tools_but_changes_writes_and_delegates_nothing(office):
    async with office(lambda task: "ok") as here:
        await here.call(tasks=[{"goal": "x"}, {"goal": "y", "tools": ["look"]}], max_concurrency=1)
        wide, narrow = ({tool.name for tool in request.tools} for request in here.model.requests)
        assert {"look", "wait"} <= wide
        assert not {"change", "tell", "subagents", "subagents_ultra", "handoff"} & wide
        assert "look" in narrow
        assert "wait" not in narrow


async def test_a_tool_that_a_worker_can_not_have_is_told(office):
    async with office(lambda task: "ok") as here:
        result = await here.call(tasks=goals("x", tools=["look", "change", "no_such"]))
        assert "It could not have these tools: change, no_such." in result.text
        assert result.structured["results"][0]["lacked_tools"] == ["change", "no_such"]


async def test_a_worker_that_calls_subagents_is_refused(office):
    def answer(request: ChatRequest) -> Any:
        return Call("subagents", tasks=[{"goal": "deeper"}])

    async with office(lambda task: Call("subagents", tasks=[{"goal": "deeper"}])) as here:
        (entry,) = await here.results(tasks=goals("x"))
        assert entry["output"] == "after a call"
        told = [r.text for m in here.model.requests[-1].messages for r in m.results]
        assert "delegated work (depth 1) may not" in told[0]
        assert here.asked == ["x", "x"]


async def test_one_that_fails_takes_nothing_from_the_others(office):
    def answer(task: str) -> Any:
        return Fail("auth", "no such key") if task == "bad" else f"found {task}"

    async with office(answer) as here:
        result = await here.call(tasks=goals("a", "bad", "c"))
        assert result.error is None
        entries = result.structured["results"]
        assert [item["status"] for item in entries] == ["done", "failed", "done"]
        assert "no such key" in entries[1]["error"]
        assert result.text.startswith("3 workers: 2 done, 1 failed.")
        assert "found c" in result.text


async def test_one_that_is_late_says_what_it_had(office):
    def answer(task: str) -> Any:
        return ["half of it ", Call("wait")] if task == "slow" else "quick"

    config = {"agents.main.delegates": ["hasty"], "agents.hasty.timeout_s": 0.2}
    async with office(answer, config=config) as here:
        result = await here.call(tasks=[{"goal": "slow", "agent": "hasty"}, {"goal": "fast"}])
    entries = result.structured["results"]
    assert [item["status"] for item in entries] == ["timed_out", "done"]
    assert entries[0]["output"].strip() == "half of it"
    assert "Error: stopped after 0.2 s" in result.text
    assert "It last said: half of it" in result.text


async def test_when_nobody_has_done_its_task_the_call_has_failed(office):
    async with office(lambda task: Fail("auth", f"{task} has no key")) as here:
        result = await here.call(tasks=goals("a", "b"))
        assert result.error is not None
        assert result.error.code == "workers_failed"
        assert result.error.fix
        assert "a has no key" in result.text
        assert len(result.structured["results"]) == 2


async def test_what_stands_in_the_way_of_all_is_told_once(office):
    async with office(lambda task: "ok") as here:
        result = await here.call(tasks=goals("a", "b"), provider="nobody")
        assert result.error is not None
        assert "no provider named 'nobody'" in result.error.message
        assert result.error.fix
        assert here.asked == []


async def test_as_many_work_at_once_as_the_call_says(office):
    working: list[int] = []

    def answer(task: str) -> Any:
        working.append(here.working)
        return Call("rest")

    async with office(answer) as here:
        for wanted, expected in ((None, 4), (1, 1), (8, 8)):
            working.clear()
            given = {} if wanted is None else {"max_concurrency": wanted}
            await here.call(tasks=goals(*"abcdefghij"), **given)
            assert max(working) == expected
            assert here.working == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"tasks": []}, "tasks"),
        ({"tasks": goals(*"abcdefghijk")}, "10"),
        ({"tasks": goals("a"), "max_concurrency": 9}, "8"),
        ({"tasks": goals("a"), "timeout_s": 901}, "900"),
        ({"tasks": goals("a"), "timeout_s": 1}, "5"),
        ({"tasks": [{"goal": ""}]}, "goal"),
        ({"tasks": [{"context": "x"}]}, "goal"),
        ({"tasks": goals("a", wish="x")}, "wish"),
        ({"tasks": goals("a"), "result_format": "short"}, "result_format"),
        ({"tasks": goals("a"), "reasoning_effort": "huge"}, "reasoning_effort"),
    ],
)
async def test_what_is_beyond_the_caps_is_refused_before_anybody_works(office, arguments, said):
    async with office(lambda task: "ok") as here:
        result = await here.call(**arguments)
        assert result.error is not None
        assert result.error.code == "invalid_arguments"
        assert said in result.error.message
        assert here.asked == []


async def test_long_answers_are_cut_alike_and_that_is_said(office):
    sizes = {"small": 1_000, "big": 50_000, "huge": 90_000}

    async with office(lambda task: "ä" * (sizes[task] // 2)) as here:
        result = await here.call(tasks=goals(*sizes))
        small, big, huge = result.structured["results"]
        lengths = [len(item["output"].encode()) for item in (small, big, huge)]
        assert lengths[0] == 1_000
        assert lengths[1] == lengths[2]
        assert 59_990 <= sum(lengths) <= 60_000
        assert small["cut_bytes"] == 0
        assert big["cut_bytes"] == 50_000 - lengths[1]
        assert huge["cut_bytes"] == 90_000 - lengths[2]
        assert f"the last {huge['cut_bytes']} of 90000 bytes are left out" in result.text
        assert result.details.get("spilled") is None, "the model reads all of the report"


async def test_who_started_them_sees_what_workers_do(office):
    def answer(task: str) -> Any:
        return Call("look")

    async with office(answer) as here:
        await here.call(tasks=goals("first", "second"), max_concurrency=1)
        assert here.progress == [
            "worker 1 of 2 begins: first",
            "worker 1 of 2 calls look",
            "worker 1 of 2 done (2 steps)",
            "worker 2 of 2 begins: second",
            "worker 2 of 2 calls look",
            "worker 2 of 2 done (2 steps)",
        ]


async def test_with_its_turn_every_worker_ends_and_none_counts_any_more(office):
    async with office(lambda task: Call("wait")) as here:
        for turn in range(1, 4):
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: here.call(tasks=goals(*"abcdefgh"), max_concurrency=8))
                with anyio.fail_after(10):
                    while len(here.model.requests) < 8 * turn:
                        await anyio.sleep(0.01)
                assert here.working == 8
                group.cancel_scope.cancel()
            assert here.working == 0
            assert not here.running.host.dispatcher.policy.leases.live


async def test_one_worker_can_be_stopped_and_the_others_go_on(office):
    def answer(task: str) -> Any:
        return Call("wait") if task == "stuck" else "quick"

    async with office(answer) as here, anyio.create_task_group() as group:

        async def stop_it() -> None:
            children = here.running.host._parts.spaces.children
            while not (stuck := [child for child in children if child.prompt == "stuck"]):
                await anyio.sleep(0.01)
            children.stop(stuck[0].run, "the owner stopped this worker")

        group.start_soon(stop_it)
        first, second = await here.results(tasks=goals("stuck", "fine"))
    assert (first["status"], first["error"]) == ("cancelled", "the owner stopped this worker")
    assert second["status"] == "done"


async def test_model_provider_and_effort_of_a_call_count_before_the_settings(office):
    other = ScriptedModel(["from the other"], repeat=True)
    second = Plugin(summary="Another provider")
    second.contribute("provider", "second", lambda context, settings: other)
    config = {"plugins.delegation": {"model": "small", "reasoning_effort": "low"}}
    async with office(lambda task: "ok", config=config, second=second) as here:
        await here.call(tasks=goals("x"))
        await here.call(tasks=goals("x"), model="large", reasoning_effort="high")
        (entry,) = await here.results(tasks=goals("x"), provider="second")
        assert entry["output"] == "from the other"
        routes = [(request.model, request.effort) for request in here.model.requests]
        assert routes == [("small", "low"), ("large", "high")]
        assert [(request.model, request.effort) for request in other.requests] == [("", "low")]


async def test_a_task_can_be_a_named_agents(office):
    config = {
        "agents.main.delegates": ["digger"],
        "agents.digger": {
            "role": "sub",
            "prompt": "You dig deep.",
            "model": "deep",
            "tools": ["look"],
        },
        "agents.stranger.role": "sub",
    }
    async with office(lambda task: "ok", config=config) as here:
        results = await here.results(
            tasks=[{"goal": "x", "agent": "digger"}, {"goal": "y", "agent": "stranger"}]
        )
        assert [item["status"] for item in results] == ["done", "failed"]
        assert results[0]["agent"] == "digger"
        assert "It delegates to: digger." in results[1]["error"]
        (request,) = here.model.requests
        assert request.model == "deep"
        assert "You dig deep." in request.messages[0].text
        assert "It can't give you orders" in request.messages[0].text
        assert {tool.name for tool in request.tools} - {"tool_result_recall"} == {"look"}


async def test_guests_never_learn_that_there_are_workers(host: HostFactory):
    config = {"policy.guest_tools": ["subagents", "subagents_ultra"]}
    async with host("delegation", config=config, model=ScriptedModel([])) as world:
        for name in ("subagents", "subagents_ultra"):
            result = await world.call(name, as_guest=True, tasks=goals("x"))
            assert result.error is not None
            assert result.error.code == "not_found"
            verdict = world.host.why(name, world.host.local_caller(as_guest=True))
            assert not verdict.disclosed


async def test_a_job_of_the_owner_may_have_workers_and_a_guests_may_not(office):
    async with office(lambda task: "ok") as here:
        local = here.running.host.local_caller(attended=False)
        job = replace(local, origin="job", job="j", job_creator="operator", admin=False)
        assert (await here.call(tasks=goals("x"), caller=job)).error is None
        guests = replace(job, trust="guest", job_creator="guest")
        refused = await here.call(tasks=goals("x"), caller=guests)
        assert refused.error is not None
        assert refused.error.code == "not_found"


async def test_without_the_capability_nobody_works(office):
    async with office(lambda task: "ok", config={"autonomy.profile": "assistant"}) as here:
        result = await here.call(tasks=goals("x"))
        assert result.error is not None
        assert result.error.code == "capability_denied"
        assert here.asked == []
