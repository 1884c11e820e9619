"""That the soak finds what it is there to find."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from checker import judge
from soak import Soak

ONE = [
    "received a 1",
    "start look a 1 t1 1",
    "end look a 1 t1 1",
    "start pay a 1 t1 1",
    "end pay a 1 t1 1",
    "sent a 1 t1:0 paid",
]
TWO = [line.replace(" a 1 ", " a 2 ").replace("t1", "t2") for line in ONE[1:]]


def test_a_course_without_trouble_is_good() -> None:
    verdict = judge([*ONE, "received a 2", *TWO, "kill w1"])
    assert str(verdict) == "lost 0, out of order 0, run twice 0, turns 2, kills 1"
    assert verdict.good


def test_a_message_that_was_received_and_not_answered_is_lost() -> None:
    assert judge([*ONE, "received a 2"]).lost == ["a 2: no reply"]


def test_one_that_was_not_received_is_not() -> None:
    assert judge(ONE[1:4]).good


def test_a_reply_that_is_not_true_is_lost() -> None:
    assert judge([*ONE[:3], ONE[5]]).lost == [
        "a 1: the reply says that it was paid, and it was not"
    ]
    assert judge([ONE[0], "sent a 1 t1:0 other"]).lost == ["a 1: ['other']"]


def test_a_turn_that_begins_before_the_one_ahead_is_answered_is_out_of_order() -> None:
    early = [*ONE[:5], "received a 2", TWO[0], ONE[5], *TWO[1:]]
    assert judge(early).out_of_order == ["a 2 began before 1 was answered"]
    assert judge([*ONE[:5], "received b 1", "start look b 1 t3 1", ONE[5]]).out_of_order == []


def test_a_payment_that_is_made_again_ran_twice() -> None:
    assert judge([*ONE, "start pay a 1 t1 2"]).twice == ["a 1: pay ran again"]


def test_a_read_that_was_interrupted_may_run_again() -> None:
    again = ["start look a 1 t1 1", *(line.replace("t1 1", "t1 2") for line in ONE[1:3]), *ONE[3:]]
    assert judge([ONE[0], *again]).good


@pytest.mark.parametrize("attempt", [1, 2])
def test_one_that_is_recorded_may_not(attempt: int) -> None:
    verdict = judge([*ONE[:4], f"start look a 1 t1 {attempt}", *ONE[4:]])
    assert len(verdict.twice) == 1


def test_a_read_that_a_sleeper_had_begun_may_come_late() -> None:
    late = [ONE[0], "start look a 1 t1 2", "end look a 1 t1 2", ONE[3], "start look a 1 t1 1"]
    assert judge([*late, *ONE[4:]]).good


def test_a_message_that_is_answered_by_two_turns_ran_twice() -> None:
    assert judge([*ONE, "sent a 1 t9:0 paid"]).twice == ["a 1: answered 2 times"]
    assert judge([*ONE, "sent a 1 t1:0 paid"]).good  # the channel shows one id once


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGSTOP")
def test_without_the_fence_a_soak_fails(tmp_path: Path) -> None:
    without = {"SOAK_UNFENCED": "1", "SOAK_CHILD_S": "0.2"}
    soak = Soak(
        tmp_path,
        4.0,
        1,
        stopped=1.0,
        declared_dead=1.0,
        aimed=True,
        drain_s=3.0,
        environment=without,
    )
    verdict = soak.run()
    assert verdict.twice, verdict
