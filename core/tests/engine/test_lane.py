"""Which conversation gets the next slot."""

from __future__ import annotations

import pytest

from pegboard.contracts.turn import TurnRef
from pegboard.engine.lane import SUSPECT_AFTER, Lane, Turnstile, background_slots


def ref(key: str, seq: int = 1, **more) -> TurnRef:
    return TurnRef(turn=f"{key}{seq}", key=key, seq=seq, **more)


def lane(key: str, *seqs: int, **more) -> Lane:
    return Lane(key, [ref(key, seq, **more) for seq in seqs or (1,)])


def turnstile(slots: int, *lanes: Lane) -> Turnstile:
    made = Turnstile()
    made.slots = slots
    for item in lanes:
        made.queue(item)
    return made


def taken(made: Turnstile) -> list[str]:
    found = []
    while (slot := made.take()) is not None:
        found.append(slot.lane.key)
    return found


@pytest.mark.parametrize(
    ("slots", "background"), [(1, 1), (2, 1), (3, 1), (4, 2), (8, 6), (100, 98)]
)
def test_background_work_leaves_two_slots_where_there_are_more_than_two(slots, background):
    assert background_slots(slots) == background
    made = turnstile(slots, *(lane(f"job{n}", background=True) for n in range(200)))
    assert len(taken(made)) == background
    made.queue(lane("person"))
    assert taken(made) == ([] if slots == 1 else ["person"])


def test_conversations_take_turns():
    a, b = lane("a", 1, 2, 3), lane("b", 1, 2)
    made, order = turnstile(1, a, b), []
    while (slot := made.take()) is not None:
        order.append(f"{slot.lane.key}{slot.lane.turns[0].seq}")
        made.give_back(slot)
        slot.lane.over(slot.lane.turns[0])
        if slot.lane.turns:
            made.queue(slot.lane)
    assert order == ["a1", "b1", "a2", "b2", "a3"]


def test_a_person_goes_before_background_work_that_came_first():
    made = turnstile(1, lane("job", background=True), lane("person"))
    assert taken(made) == ["person"]


def test_a_person_behind_background_work_takes_it_along():
    job, chat = lane("job", background=True), lane("chat", background=True)
    made = turnstile(1, job, chat)
    chat.add(ref("chat", 2))
    made.requeue(chat)
    made.requeue(job)
    assert taken(made) == ["chat"]


def test_a_background_slot_that_is_given_back_is_used_again():
    made = turnstile(3, *(lane(f"job{n}", background=True) for n in range(3)))
    slot = made.take()
    assert made.take() is None
    assert (made.running, made.running_background) == (1, 1)
    made.give_back(slot)
    assert (made.running, made.running_background) == (0, 0)
    assert made.take().lane.key == "job1"


def test_what_killed_hosts_before_runs_first_and_one_at_a_time():
    suspects = [lane(key, attempts=SUSPECT_AFTER) for key in ("x", "y")]
    once = lane("z", attempts=SUSPECT_AFTER - 1)
    made = turnstile(4, lane("a"), suspects[0], once, suspects[1])
    first = made.take()
    assert first.lane.key == "x"
    assert taken(made) == ["a", "z"]
    made.give_back(first)
    assert taken(made) == ["y"]


def test_background_work_that_killed_hosts_leaves_a_slot_too():
    made = turnstile(2, lane("job", background=True), lane("x", background=True, attempts=9))
    assert taken(made) == ["x"]
    made.queue(lane("person"))
    assert taken(made) == ["person"]


def test_turns_are_in_order_whatever_order_they_come_in():
    made = lane("a", 5)
    for seq in (7, 3, 6, 4):
        made.add(ref("a", seq))
    assert [item.seq for item in made.turns] == [3, 4, 5, 6, 7]


def test_how_often_a_turn_was_begun_is_learnt_later():
    made = lane("a", 1, 2)
    made.learn(ref("a", 1, attempts=SUSPECT_AFTER))
    assert made.suspect
    made.learn(ref("a", 1))
    assert made.suspect
    made.over(made.turns[0])
    assert not made.suspect
