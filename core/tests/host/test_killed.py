"""A host that is killed with -9, anywhere, and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pegboard.store.fatal_calls import FILE_NAME, FatalCalls
from pegboard.turns.handler import GIVEN_UP

PROGRAM = Path(__file__).with_name("killed_host.py")
ANSWERS = ["one: paid", "two: paid", "three: paid"]


class Killed:
    """The program and its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, **environment: str) -> dict[str, Any] | None:
        """Run it to its end, or until it is killed; return what it printed."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PEGBOARD")}
        ran = subprocess.run(
            [sys.executable, str(PROGRAM), str(self.folder)],
            env={**kept, **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if ran.returncode in (-signal.SIGKILL, int(environment.get("EXIT", -1))):
            return None
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    @property
    def log(self) -> list[str]:
        return (self.folder / "log").read_text().splitlines()

    def did(self, what: str) -> list[str]:
        return [line for line in self.log if line.startswith(what)]

    @property
    def sent(self) -> list[str]:
        return [line.removeprefix("sent ") for line in self.did("sent ")]


@pytest.fixture
def killed(tmp_path: Path) -> Killed:
    return Killed(tmp_path)


def test_a_host_that_is_not_killed_answers_in_order(killed: Killed) -> None:
    ended = killed.run()
    assert ended is not None
    assert ended["turns"] == [["one", "done"], ["two", "done"], ["three", "done"]]
    assert killed.sent == ANSWERS
    assert ended["asked"] == 9


def test_a_read_that_was_interrupted_is_run_again(killed: Killed) -> None:
    assert killed.run(DIE_IN="look two") is None
    ended = killed.run()
    assert ended is not None
    assert ended["turns"] == [["one", "done"], ["two", "done"], ["three", "done"]]
    assert killed.did("look") == ["look one 1", "look two 1", "look two 2", "look three 1"]
    assert killed.did("pay") == ["pay one 1", "pay two 1", "pay three 1"]
    assert killed.sent == ANSWERS


def test_of_a_payment_that_was_interrupted_the_model_is_told(killed: Killed) -> None:
    assert killed.run(DIE_IN="pay two") is None
    ended = killed.run()
    assert ended is not None
    assert killed.did("pay") == ["pay one 1", "pay two 1", "pay three 1"]
    assert killed.did("look") == ["look one 1", "look two 1", "look three 1"]
    assert killed.sent == ["one: paid", "two: in doubt", "three: paid"]
    assert ended["asked"] == 1 + 3  # the rest of the second turn, and the third


@pytest.mark.parametrize(
    "point",
    [
        "ingest:before:2",
        "ingest:after:2",
        "begin:after:2",
        "intend:before:5",
        "intend:after:5",
        "record:after:3",
        "record:after:4",
        "reply:before:2",
        "reply:after:2",
        "sending:before:2",
        "sent:after:2",
        "finish:before:2",
        "finish:after:2",
    ],
)
def test_wherever_it_is_killed_nothing_is_lost_and_nothing_done_twice(
    killed: Killed, point: str
) -> None:
    assert killed.run(PEGBOARD_CRASH=point) is None
    ended = killed.run()
    assert ended is not None
    assert ended["turns"] == [["one", "done"], ["two", "done"], ["three", "done"]]
    assert killed.sent == ANSWERS
    assert [line.split()[1] for line in killed.did("pay")] == ["one", "two", "three"]
    assert ended["said"] == [6, 6, 6]
    assert ended["doubtful"] == []


@pytest.mark.parametrize("point", ["sending:after:2", "sent:before:2"])
def test_a_reply_that_was_being_sent_is_in_doubt_and_told_with_the_next(
    killed: Killed, point: str
) -> None:
    assert killed.run(PEGBOARD_CRASH=point) is None
    sent = len(killed.sent)
    ended = killed.run()
    assert ended is not None
    assert ended["turns"] == [["one", "done"], ["two", "failed"], ["three", "done"]]
    (told,) = killed.sent[sent:]
    assert told == "(It is not certain that this earlier reply reached you: two: paid) three: paid"
    assert ended["doubtful"] == []


def test_a_turn_that_kills_its_host_each_time_is_given_up_and_the_others_answered(
    killed: Killed,
) -> None:
    for _ in range(3):
        assert killed.run(DIE_IN="look two") is None
    ended = killed.run(DIE_IN="look two")
    assert ended is not None
    assert killed.did("look two") == [f"look two {n}" for n in (1, 2, 3)]
    assert killed.sent[0] == "one: paid"
    assert killed.sent[1].startswith("I could not finish this request")
    assert killed.sent[2:] == ["three: paid"]


def test_a_tool_that_ends_the_host_each_time_is_named_to_its_person_and_afterwards(
    killed: Killed,
) -> None:
    ends = {"DIE_IN": "look two", "EXIT": "70"}
    for _ in range(3):
        assert killed.run(**ends) is None
    ended = killed.run(**ends)
    assert ended is not None, "it is not run a fourth time"
    # `said` has nothing of the given-up one: what ended its hosts may be the request itself
    assert killed.did("look two") == [f"look two {number}" for number in (1, 2, 3)]
    told = f"{GIVEN_UP} The last thing it ran was look."
    assert killed.sent == [ANSWERS[0], told, ANSWERS[2]]
    (file,) = killed.folder.rglob(FILE_NAME)
    fatal = FatalCalls(file.parent).recent(time.time())
    assert [(call.tool, call.attempt) for call in fatal] == [("shop:look", n) for n in (1, 2, 3)]
