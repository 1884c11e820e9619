from __future__ import annotations

from dataclasses import replace

import pytest

from pegboard.testing import Call, HostFactory, ScriptedModel

pytestmark = pytest.mark.anyio
PLAN = [{"step": "Look", "status": "completed"}, {"step": "Act", "status": "in_progress"}]


async def test_a_step_is_a_task_and_a_task_is_a_step(talk) -> None:
    assert await talk.call("update_plan", plan=PLAN) == "1 of 2 done\n[x] #1 Look\n[>] #2 Act"
    assert await talk.call("TaskCreate", subject="Rest") == "Task #3 is on the list: Rest"
    said = await talk.call("TaskUpdate", taskId="#3", addBlockedBy=["2"], owner="ann")
    assert said == "[ ] #3 Rest (ann; waits for #2)"
    plan = [*PLAN, {"step": "Rest", "status": "pending"}]
    assert "[ ] #3 Rest (ann; waits for #2)" in await talk.call("update_plan", plan=plan)
    said = await talk.call("TaskUpdate", taskId="2", status="completed")
    assert said.splitlines()[1] == "It waits for nothing any more: [ ] #3 Rest (ann)"
    assert await talk.call("TaskUpdate", taskId="1", status="deleted") == "Task #1 is off the list."
    assert await talk.list() == ["1 of 2 done", "[x] #2 Act", "[ ] #3 Rest (ann)"]


async def test_a_task_has_all_that_belongs_to_it(talk) -> None:
    await talk.call(
        "TaskCreate", subject="Look", description="Well.", activeForm="Looking", metadata={"a": 1}
    )
    await talk.call("TaskCreate", subject="Act")
    await talk.call("TaskUpdate", taskId="1", status="in_progress", addBlocks=["2"])
    assert (await talk.call("TaskGet", taskId="1")).splitlines() == [
        "[>] #1 Look", "status: in_progress", "while it is in progress: Looking", "blocks: #2",
        "a: 1", "", "Well.",
    ]  # fmt: skip
    assert "There is no task '7'" in await talk.call("TaskGet", taskId="7")


async def test_programs_get_the_whole_list(talk) -> None:
    host = talk.running
    await host.call("TaskCreate", subject="Look", metadata={"a": 1})
    await host.call("TaskCreate", subject="Act")
    result = await host.call("TaskUpdate", taskId="2", addBlockedBy=["1"])
    assert result.structured == {
        "task": "2",
        "items": [
            {
                "id": "1", "subject": "Look", "status": "pending", "blocks": ["2"],
                "metadata": {"a": 1},
            },
            {"id": "2", "subject": "Act", "status": "pending", "blockedBy": ["1"]},
        ],
    }  # fmt: skip


async def test_a_bad_plan_changes_nothing(talk) -> None:
    await talk.call("update_plan", plan=PLAN)
    both = [{"step": "Look", "status": "in_progress"}, {"step": "Rest", "status": "in_progress"}]
    assert "2 steps are in_progress" in await talk.call("update_plan", plan=both)
    assert (await talk.list())[1:] == ["[x] #1 Look", "[>] #2 Act"]


async def test_names_of_other_agents_are_taken_for_these(talk) -> None:
    todos = [{"content": "Look", "status": "pending"}]
    assert "[ ] #1 Look" in await talk.call("write_todos", todos=todos)
    assert "[x] #1 Look" in await talk.call("update_task", task_id=1, status="completed")
    assert "Task #2" in await talk.call("TaskCreate", subject="Act", description="", activeForm="")
    assert "waits for #1" not in await talk.call("TaskUpdate", id="2", addBlockedBy=[1])
    assert "blocked by: #1" in await talk.call("TaskGet", taskId=2)


async def test_every_conversation_has_its_own_until_it_begins_anew(talk) -> None:
    await talk.call("TaskCreate", subject="Look")
    assert await talk.list("2") == ["The list is empty."]
    assert len(await talk.list()) == 2
    await talk.command("/new")
    assert await talk.list() == ["The list is empty."]
    assert await talk.call("TaskCreate", subject="Act") == "Task #1 is on the list: Act"


async def test_workers_share_the_list_but_leave_the_plan_alone(talk) -> None:
    await talk.call("TaskCreate", subject="Look")
    work = [
        Call("subagents", tasks=[{"goal": "Do it"}]),
        [Call("TaskUpdate", taskId="1", status="completed"), Call("TaskCreate", subject="Act")],
        Call("update_plan", plan=[]),
        "The worker is done.",
        "Fine.",
    ]
    await talk.say(*work)
    (refused,) = talk.model.requests[-2].messages[-1].results
    assert refused.error
    assert "the agent which gave you this work" in refused.text
    assert await talk.list() == ["1 of 2 done", "[x] #1 Look", "[ ] #2 Act"]


async def test_parallel_calls_make_one_task_each(talk) -> None:
    names = [f"task {number}" for number in range(12)]
    await talk.say([Call("TaskCreate", subject=name) for name in names], "Fine.")
    listed = await talk.list()
    assert {line.split(" ", 3)[3] for line in listed[1:]} == set(names)


async def test_it_stays_when_the_host_ends_and_goes_when_the_conversation_is_erased(
    host: HostFactory, talking
) -> None:
    model = ScriptedModel()
    async with host("planning", model=model) as running:
        await talking(running, model).call("TaskCreate", subject="Look")
    async with host("planning", model=model) as running:
        talk = talking(running, model)
        assert (await talk.list())[1:] == ["[ ] #1 Look"]
        await running.host.sessions.delete("chat/1")
        assert await talk.list() == ["The list is empty."]


async def test_that_of_no_conversation_goes_with_its_person(talk) -> None:
    running = talk.running
    await running.call("TaskCreate", subject="Look")
    assert "#1 Look" in (await running.call("TaskList")).text
    await running.host.sessions.delete_person(running.host.local_caller().sender)
    assert (await running.call("TaskList")).text == "The list is empty."


async def test_the_person_can_look_at_it_at_any_time(talk) -> None:
    assert await talk.command("/plan") == "The list is empty."
    await talk.call("update_plan", plan=PLAN)
    shown = "```\n1 of 2 done\n[x] #1 Look\n[>] #2 Act\n```"
    assert await talk.command("/plan") == shown
    assert await talk.command("/plan", chat="2") == "The list is empty."
    assert "- `/plan`: show what is planned here, and how far it is" in await talk.command("/help")
    await talk.command("/new")
    assert await talk.command("/plan") == "The list is empty."


async def test_without_the_plugin_the_word_goes_to_the_model(host: HostFactory, talking) -> None:
    model = ScriptedModel(["I have no plan."])
    async with host(model=model) as running:
        assert await talking(running, model).command("/plan") == "I have no plan."
    assert model.requests[-1].messages[-1].text == "/plan"


@pytest.mark.parametrize(
    ("offered", "declared"),
    [
        (("update_plan",), {"update_plan"}),
        (("TaskCreate",), {"TaskCreate", "TaskGet", "TaskList", "TaskUpdate"}),
    ],
)
async def test_a_model_is_offered_what_it_is_used_to_and_may_call_the_rest(
    talk, offered: tuple[str, ...], declared: set[str]
) -> None:
    talk.model._caps = replace(talk.model._caps, offered=offered)
    assert "#1 Look" in await talk.call("update_plan", plan=PLAN)
    assert await talk.call("TaskCreate", subject="Rest") == "Task #3 is on the list: Rest"
    ours = {"update_plan", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"}
    assert ours & {tool.name for tool in talk.model.requests[-1].tools} == declared


async def test_a_worker_that_is_used_to_plans_is_offered_tasks(talk) -> None:
    talk.model._caps = replace(talk.model._caps, offered=("update_plan",))
    await talk.say(Call("subagents", tasks=[{"goal": "Do it"}]), "The worker is done.", "Fine.")
    mine, workers, _ = [{tool.name for tool in request.tools} for request in talk.model.requests]
    assert "update_plan" in mine - workers
    assert "TaskUpdate" in workers - mine
