from __future__ import annotations

from functools import reduce

import pytest
from pegboard_planning.changes import Change, changed, created, planned
from pegboard_planning.item import MAX_ITEMS, NOTHING, Item, WorkList
from pegboard_planning.shown import checklist

from pegboard import ToolFailure


def tasks(*subjects: str) -> WorkList:
    items = (Item(id="", subject=subject) for subject in subjects)
    return reduce(created, items, NOTHING)


def subjects(work: WorkList) -> list[tuple[str, str]]:
    return [(item.id, item.subject) for item in work.items]


def test_a_step_with_the_same_text_is_the_same_item() -> None:
    work = changed(tasks("Look", "Act"), "2", Change(description="Well.", owner="ann"))
    work = planned(work, [("Act", "in_progress"), ("Rest", "pending")], "Nothing to look at.")
    assert subjects(work) == [("2", "Act"), ("3", "Rest")]
    (act, _) = work.items
    assert (act.description, act.owner, act.status) == ("Well.", "ann", "in_progress")
    assert work.explanation == "Nothing to look at."


def test_no_text_of_a_task_adds_a_line_to_the_list() -> None:
    work = changed(tasks("Look\n[x] #7 a"), "1", Change(owner="ann)\n[x] #8 b"))
    assert len(checklist(work).splitlines()) == 2


def test_a_number_is_never_given_twice() -> None:
    work = changed(tasks("Look", "Act"), "2", Change(status="deleted"))
    assert subjects(created(work, Item(id="", subject="Rest"))) == [("1", "Look"), ("3", "Rest")]
    assert subjects(planned(work, [("Rest", "pending")], "")) == [("3", "Rest")]


@pytest.mark.parametrize(
    "change", [Change(add_blocked_by=["#1"]), Change(add_blocked_by=["1", "1"])]
)
def test_a_task_waits_for_another_until_that_is_completed(change: Change) -> None:
    work = changed(tasks("Look", "Act"), "2", change)
    look, act = work.items
    assert (act.blocked_by, work.holds_up(look)) == (("1",), ("2",))
    assert work.waits_for(act) == (look,)
    assert changed(work, "1", Change(status="completed")).waits_for(act) == ()


def test_the_same_can_be_said_from_the_other_side() -> None:
    work = changed(tasks("Look", "Act", "Rest"), "1", Change(add_blocks=["2", "3"]))
    assert [item.blocked_by for item in work.items] == [(), ("1",), ("1",)]


def test_nothing_waits_for_what_was_taken_off() -> None:
    work = changed(tasks("Look", "Act"), "2", Change(add_blocked_by=["1"]))
    assert changed(work, "1", Change(status="deleted")).items[0].blocked_by == ()
    assert planned(work, [("Act", "pending")], "").items[0].blocked_by == ()


@pytest.mark.parametrize(
    ("id", "change", "code"),
    [
        ("9", Change(status="completed"), "not_found"),
        ("1", Change(add_blocks=["9"]), "not_found"),
        ("1", Change(add_blocks=["1"]), "bad_task"),
        ("1", Change(add_blocked_by=["3"]), "bad_task"),
        ("3", Change(add_blocks=["1"]), "bad_task"),
        ("1", Change(subject="  "), "bad_task"),
        ("1", Change(metadata={"a": "x" * 4_000}), "bad_task"),
    ],
)
def test_what_makes_no_sense_is_refused(id: str, change: Change, code: str) -> None:
    work = changed(tasks("Look", "Act", "Rest"), "1", Change(add_blocks=["2"]))
    work = changed(work, "2", Change(add_blocks=["3"]))
    with pytest.raises(ToolFailure) as caught:
        changed(work, id, change)
    assert caught.value.tool_code == code
    assert caught.value.fix


def test_metadata_is_added_to_and_taken_out() -> None:
    work = changed(tasks("Look"), "1", Change(metadata={"a": 1, "b": 2}))
    work = changed(work, "1", Change(metadata={"a": None, "c": 3}))
    assert work.items[0].metadata == {"b": 2, "c": 3}


def test_what_is_left_out_stays_and_an_empty_text_takes_away() -> None:
    work = changed(tasks("Look"), "1", Change(owner="ann", description="Well."))
    work = changed(work, "1", Change(owner=""))
    assert (work.items[0].owner, work.items[0].description) == ("", "Well.")


def test_a_full_list_says_so() -> None:
    full = tasks(*map(str, range(MAX_ITEMS)))
    with pytest.raises(ToolFailure, match=f"holds {MAX_ITEMS} tasks"):
        created(full, Item(id="", subject="One more"))
