"""What a model is told of the list without having asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from pegboard_planning.plugin import plugin
from pegboard_planning.reminder import (
    CHANGES,
    LOOKS,
    STEPS,
    answers_since,
    is_old,
    shown_in,
    with_note,
)

from pegboard import CallResult, ChatRequest, Message, Text, ToolCall
from pegboard.testing import Call, HostFactory, ScriptedModel

SUMMARY = "<summary>They paint a boat.</summary>"
SHOWN = "[The list of work of this conversation"
OLD = "[The list of work was not changed"
OPEN = [{"step": "Look", "status": "completed"}, {"step": "Act", "status": "in_progress"}]
DONE = [{"step": "Look", "status": "completed"}]


def called(name: str) -> list[Message]:
    call = ToolCall("c", name, "{}")
    result = CallResult("c", name, (Text("ok"),))
    return [
        Message("assistant", (), calls=(call,)),
        Message("tool", (), results=(result,)),
    ]


def talk_of(*after: str) -> list[Message]:
    """Return a conversation in which the list was changed, and then these tools were called."""
    asked = [Message.of("user", "Go.")]
    return [*asked, *called("update_plan"), *(item for name in after for item in called(name))]


@pytest.mark.parametrize("steps", [STEPS, 2 * STEPS])
def test_it_is_old_every_ten_answers(steps: int) -> None:
    assert is_old(talk_of(*["shell"] * steps))
    assert not is_old(talk_of(*["shell"] * (steps + 1)))


def test_looking_at_it_does_not_make_it_new_but_a_change_does() -> None:
    assert is_old(talk_of(*["TaskList"] * STEPS))
    assert not is_old(talk_of(*["shell"] * STEPS, "TaskUpdate"))
    assert not is_old(called("shell") * STEPS)


def test_what_paused_goes_on_where_it_stopped() -> None:
    messages = [*talk_of(*["shell"] * (STEPS - 1)), Message.of("assistant", "And then")]
    assert answers_since(messages, CHANGES) == STEPS
    assert not is_old(messages)


def test_the_list_is_shown_behind_the_last_words_of_the_person() -> None:
    messages = [Message.of("user", "One"), Message.of("assistant", "1"), Message.of("user", "Two")]
    shown = shown_in([*messages, *called("shell")], "THE LIST")
    assert [message.text for message in shown[:3]] == ["One", "1", "Two\nTHE LIST"]
    assert len(shown) == 5
    assert shown_in(called("shell"), "THE LIST") == tuple(called("shell"))


def test_no_message_of_its_own_carries_a_note() -> None:
    (_, results) = called("shell")
    assert with_note(results, "NOTE").results[0].text == "ok\nNOTE"


def test_every_name_of_the_tools_is_known() -> None:
    names = set()
    for tool in plugin.pegboard_tools():
        facts = tool.__pegboard_tool__
        if facts.name != "TaskGet":  # it shows one task, not the list
            names |= {facts.name, *facts.aliases, f"planning__{facts.name}"}
    assert names == CHANGES | LOOKS


def read(request: ChatRequest) -> str:
    texts = [part.text for message in request.messages for part in (message, *message.results)]
    return "\n".join(texts)


@pytest.mark.anyio
async def test_a_summary_does_not_take_the_list_with_it(talk) -> None:
    for number in range(5):
        await talk.say("Paint dries. " * 40, text=f"What of coat {number}? " * 20)
    await talk.call("update_plan", plan=OPEN)
    assert SHOWN not in read(talk.model.requests[-1])
    for _ in range(2):
        await talk.say("Fine. " * 40, text="Go on. " * 40)
    talk.model._script.append(SUMMARY)
    assert "shorter" in await talk.command("/compact")
    await talk.say(Call("date"), "Fine.")
    *_, first, second = talk.model.requests
    for request in (first, second):
        assert f"{SHOWN}, as it is now.]" in read(request)
        assert "1 of 2 done\n[x] #1 Look\n[>] #2 Act" in read(request)
    assert first.messages == second.messages[: len(first.messages)]
    await talk.call("update_plan", plan=DONE)
    assert SHOWN not in read(talk.model.requests[-1])


@pytest.mark.anyio
@pytest.mark.parametrize(("plan", "reminded"), [(OPEN, 1), (DONE, 0)])
async def test_a_list_that_is_old_comes_to_mind_while_something_is_open(
    talk, plan: list[dict[str, str]], reminded: int
) -> None:
    looks = [Call("TaskGet", taskId=str(number)) for number in range(STEPS + 1)]
    await talk.say(Call("update_plan", plan=plan), *looks, "Fine.")
    requests = [OLD in read(request) for request in talk.model.requests]
    assert requests.count(True) == reminded
    assert requests.index(True) == STEPS + 1 if reminded else True


@pytest.mark.anyio
async def test_a_note_leaves_the_record_of_the_provider_as_it_is(talk) -> None:
    looks = [Call("TaskGet", taskId=str(number)) for number in range(STEPS)]
    await talk.say(Call("update_plan", plan=OPEN), *looks, "Fine.")
    assert OLD in read(talk.model.requests[-1])
    assert talk.model.requests[-1].state is not None


@pytest.mark.anyio
@pytest.mark.parametrize(("tools", "told"), [(None, True), (["TaskList"], False)])
async def test_only_whoever_is_offered_the_tools_is_told(
    host: HostFactory, talking, tools: list[str] | None, told: bool
) -> None:
    model = ScriptedModel()
    work = Call("subagents", tasks=[{"goal": "Do it"}])
    making = [Call("TaskCreate", subject="Look"), "The worker is done.", "Fine."]
    async with host("planning", "delegation", model=model) as running:
        await talking(running, model).say(work, *making)  # what a worker did, its parent can't see
    config = {"agents.main.tools": tools} if tools else {}
    async with host("planning", model=model, config=config) as running:
        await talking(running, model).say("Fine.")
    assert (SHOWN in read(model.requests[-1])) is told


@pytest.mark.anyio
async def test_nobody_is_shown_the_list_of_another_host(talk, talking, tmp_path: Path) -> None:
    await talk.say("Fine.")
    model = ScriptedModel()
    async with HostFactory(tmp_path / "other")("planning", model=model) as running:
        await talking(running, model).call("update_plan", plan=OPEN)
        await talk.say("Fine.")
        assert SHOWN not in read(talk.model.requests[-1])
