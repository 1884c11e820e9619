from __future__ import annotations

import anyio
import pytest

from pegboard.contracts.turn import Begun, NotBegun

pytestmark = pytest.mark.anyio


@pytest.fixture
async def running(store, make):
    await store.ingest(make.incoming("t1"))
    await store.begin("t1", now=2.0, max_attempts=3)
    return store


async def answer(store, token="T1", *, key="k", agreed=True, now=20.0, grain="once"):
    return await store.answer(key, token, agreed=agreed, grain=grain, by="me", now=now)


async def test_a_question_is_kept_and_answered_once(running, make):
    asked = make.question("t1", "a", question="Write 'x'?\0\ud800", rule="[policy] ask")
    assert await running.ask(asked) == asked
    assert await running.approvals() == await running.approvals("k") == [asked]
    assert await running.approvals("other") == []
    agreed = await answer(running, grain="run")
    assert (agreed.state, agreed.grain, agreed.by, agreed.call) == ("agreed", "run", "me", "a")
    assert await answer(running) is None
    assert await answer(running, agreed=False) is None
    assert await running.approvals() == []
    assert (await running.begun("t1")).approvals == {"a": agreed}


async def test_a_no_is_kept(running, make):
    await running.ask(make.question("t1", "a"))
    assert (await answer(running, agreed=False)).state == "refused"


async def test_only_its_own_conversation_can_answer_and_only_by_the_right_token(running, make):
    await running.ask(make.question("t1", "a"))
    assert await answer(running, key="other") is None
    assert await answer(running, "T2") is None
    assert await answer(running, "T1' OR '1'='1") is None
    assert len(await running.approvals("k")) == 1


async def test_what_has_expired_is_not_answered(running, make):
    await running.ask(make.question("t1", "a", at=10.0))
    assert await answer(running, now=70.0) is None
    await running.wait("t1", 1, until=70.0)
    begun = await running.begin("t1", now=70.0, max_attempts=3)
    assert begun.approvals["a"].state == "expired"
    assert await running.approvals() == []
    assert await answer(running, now=20.0) is None


async def test_one_answer_serves_all_who_ask_the_same(running, make):
    first = await running.ask(make.question("t1", "a", token="T1", at=10.0))
    shared = await running.ask(make.question("t1", "b", token="T2", at=15.0))
    assert (shared.call, shared.token, shared.expires_at) == ("b", "T1", first.expires_at)
    other = await running.ask(make.question("t1", "c", token="T3", subject="other"))
    assert other.token == "T3"
    assert await answer(running, "T2") is None
    assert (await answer(running, "T1")).call == "a"
    states = {id: kept.state for id, kept in (await running.begun("t1")).approvals.items()}
    assert states == {"a": "agreed", "b": "agreed", "c": "pending"}


async def test_a_question_is_not_shared_with_another_conversation_or_an_expired_one(running, make):
    await running.ask(make.question("t1", "a", token="T1", at=10.0))
    await running.ingest(make.incoming("u1", "u"))
    elsewhere = await running.ask(make.question("u1", "a", key="u", token="T2"))
    later = await running.ask(make.question("t1", "b", token="T3", at=70.0))
    assert (elsewhere.token, later.token) == ("T2", "T3")


async def test_asking_about_a_call_again_returns_what_is_known(running, make):
    await running.ask(make.question("t1", "a", token="T1"))
    again = await running.ask(make.question("t1", "a", token="T2", at=12.0))
    assert again.token == "T1"
    await answer(running, "T1")
    assert (await running.ask(make.question("t1", "a", token="T4"))).state == "agreed"
    # unless it is another call by now
    other = await running.ask(make.question("t1", "a", token="T5", subject="other"))
    assert (other.token, other.state) == ("T5", "pending")


async def test_an_answer_wakes_the_turn_that_waits(running, make):
    await running.ask(make.question("t1", "a"))
    await running.wait("t1", 1, until=70.0)
    assert await running.begin("t1", now=15.0, max_attempts=3) == NotBegun(why="later", at=70.0)
    await answer(running, now=20.0)
    begun = await running.begin("t1", now=20.0, max_attempts=3)
    assert isinstance(begun, Begun) and begun.approvals["a"].state == "agreed"


async def test_an_answer_that_comes_before_the_turn_waits_is_not_missed(running, make):
    await running.ask(make.question("t1", "a"))
    await answer(running)
    assert not await running.wait("t1", 1, until=70.0)
    assert isinstance(await running.begin("t1", now=20.0, max_attempts=3), Begun)


async def test_two_answers_at_once_count_as_one(running, other, make):
    await running.ask(make.question("t1", "a"))
    answers = []

    async def say(host, agreed):
        answers.append(await answer(host, agreed=agreed))

    async with anyio.create_task_group() as group:
        group.start_soon(say, running, True)
        group.start_soon(say, other, False)
    assert answers.count(None) == 1


async def test_the_questions_of_a_turn_end_with_it(running, make):
    await running.ask(make.question("t1", "a"))
    await running.finish("t1", 1, state="cancelled", now=15.0)
    assert await running.approvals() == []
    assert await answer(running) is None
    assert (await running.begun("t1")).approvals["a"].state == "expired"
