from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from dataclasses import replace

import pytest

from pegboard.contracts.audit import AuditEvent
from pegboard.store.audit_chain import EMPTY, Head, parse_head
from pegboard.store.audit_log import (
    AuditFilter,
    append,
    exported,
    head,
    head_of_export,
    listed,
    records,
    verified,
)
from pegboard.store.migrations import migrate
from pegboard.store.sqlite import FILE_NAME, open_for_reading, open_for_writing

EVENT = AuditEvent(
    at=1_700_000_000.5, kind="deny", rule="owner_only", outcome="deny", tool="a:b", sender="x:1"
)
TRIGGERS = ("audit_no_update", "audit_no_delete", "audit_only_appended")


@pytest.fixture
def log(tmp_path):
    with closing(open_for_writing(tmp_path / FILE_NAME)) as connection:
        migrate(connection, tmp_path / FILE_NAME)
        yield connection


def fill(log, count=5):
    return [append(log, [replace(EVENT, at=EVENT.at + number)]) for number in range(count)]


def without_triggers(log):
    """Do what an attacker with the file in hand does first."""
    for name in TRIGGERS:
        log.execute(f"DROP TRIGGER {name}")


def test_a_chain_that_nobody_touched_is_complete(log):
    heads = fill(log)
    found = verified(log, heads[-1])
    assert (found.broken, found.records, found.head) == (None, 5, head(log))
    assert found.to_dict() == {
        "ok": True,
        "records": 5,
        "head": str(heads[-1]),
        "broken": None,
    }


def test_an_empty_log_is_complete(log):
    assert head(log) == EMPTY
    assert verified(log).broken is None
    assert verified(log, EMPTY).broken is None


@pytest.mark.parametrize("earlier", range(5))
def test_any_earlier_head_is_found_again(log, earlier):
    heads = fill(log)
    assert verified(log, heads[earlier]).broken is None
    assert verified(log, Head(None, heads[earlier].hash)).broken is None


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET event = '{}' WHERE id = 2",
        "DELETE FROM audit WHERE id = 5",
        "DELETE FROM audit",
        "INSERT OR REPLACE INTO audit(id, event, prev_hash, hash) VALUES (2, '{}', 'x', 'y')",
        "REPLACE INTO audit(id, event, prev_hash, hash) SELECT id, '{}', hash, hash FROM audit",
        "INSERT INTO audit(id, event, prev_hash, hash) VALUES (9, '{}', 'x', 'y')",
        "INSERT INTO audit(event, prev_hash, hash) VALUES ('{}', 'x', 'y')",
    ],
)
def test_the_database_itself_refuses_what_is_not_appending(log, statement):
    fill(log)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        log.execute(statement)
    assert verified(log).records == 5


@pytest.mark.parametrize(
    ("changes", "problem", "at"),
    [
        (["DELETE FROM audit WHERE id = 3"], "removed", 3),
        (["DELETE FROM audit WHERE id IN (2, 3)"], "removed", 2),
        (["DELETE FROM audit WHERE id = 1"], "removed", 1),
        (
            [
                "DELETE FROM audit WHERE id = 3",
                "UPDATE audit SET id = 3 WHERE id = 4",
                "UPDATE audit SET id = 4 WHERE id = 5",
            ],
            "changed",
            3,
        ),
        (
            ["UPDATE audit SET event = replace(event, 'owner_only', 'allowed') WHERE id = 4"],
            "changed",
            4,
        ),
        (["UPDATE audit SET hash = 'f' WHERE id = 5"], "changed", 5),
        (["UPDATE audit SET prev_hash = 'f' WHERE id = 2"], "changed", 2),
        (
            [
                "UPDATE audit SET id = 99 WHERE id = 2",
                "UPDATE audit SET id = 2 WHERE id = 3",
                "UPDATE audit SET id = 3 WHERE id = 99",
            ],
            "changed",
            2,
        ),
        (["UPDATE audit SET id = -id WHERE id = 5"], "not_in_order", 1),
    ],
)
def test_each_way_of_forging_is_found_and_placed(log, changes, problem, at):
    fill(log)
    without_triggers(log)
    for change in changes:
        log.execute(change)
    broken = verified(log).broken
    assert broken is not None
    assert (broken.problem, broken.id) == (problem, at)


@pytest.mark.parametrize("bare", [False, True])
def test_an_end_that_was_cut_off_is_found_with_an_exported_head(log, bare):
    kept = fill(log)[-1]
    without_triggers(log)
    log.execute("DELETE FROM audit WHERE id > 3")
    assert verified(log).broken is None  # which is why the head is to be kept elsewhere
    broken = verified(log, Head(None, kept.hash) if bare else kept).broken
    assert broken is not None
    assert (broken.problem, broken.id) == ("truncated", 4)


def test_an_emptied_log_is_found_with_an_exported_head(log):
    kept = fill(log)[-1]
    without_triggers(log)
    log.execute("DELETE FROM audit")
    broken = verified(log, kept).broken
    assert broken is not None and broken.problem == "truncated"


def test_a_log_that_was_written_anew_is_found_with_an_exported_head(log):
    kept = fill(log)[2]
    without_triggers(log)
    log.execute("DELETE FROM audit")
    for _ in range(9):
        append(log, [replace(EVENT, rule="allowed")])
    assert verified(log).broken is None
    broken = verified(log, kept).broken
    assert broken is not None and (broken.problem, broken.id) == ("changed", 3)


def test_filters_narrow_and_the_latest_are_kept(log):
    append(
        log,
        [
            replace(EVENT, at=1.0),
            replace(EVENT, at=2.0, tool="c:d"),
            replace(EVENT, at=3.0, kind="ask"),
            replace(EVENT, at=4.0),
        ],
    )

    def ids(**filter):
        return [record.id for record in listed(log, AuditFilter(**filter))]

    assert ids() == [1, 2, 3, 4]
    assert ids(since=2.0) == [2, 3, 4]
    assert ids(tool="a:b") == [1, 3, 4]
    assert ids(kind="ask") == [3]
    assert ids(limit=2) == [3, 4]
    assert ids(tool="a:b", kind="deny", since=2, limit=5) == [4]


def test_events_come_back_whole_whatever_their_texts_hold(log):
    event = replace(EVENT, sender="ж\x00\ud800'\"\n", since=1.0, count=7)
    append(log, [event])
    (record,) = records(log)
    assert AuditEvent.from_dict(json.loads(record.event)) == event
    assert verified(log).broken is None


def test_an_export_can_be_read_and_ends_with_the_head(log):
    last = fill(log)[-1]
    lines = list(exported(log))
    assert [json.loads(line)["id"] for line in lines[:-1]] == [1, 2, 3, 4, 5]
    assert json.loads(lines[0])["event"]["rule"] == "owner_only"
    assert head_of_export(lines[-1]) == last
    assert head_of_export(lines[0]) is None
    assert head_of_export("no JSON") is None
    assert parse_head(str(last)) == last
    assert parse_head("nothing") is None


APPENDING = """
import sys
from pathlib import Path
from pegboard.contracts.audit import AuditEvent
from pegboard.store.audit_log import append
from pegboard.store.migrations import migrate
from pegboard.store.sqlite import open_for_writing
path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
connection = open_for_writing(path)
migrate(connection, path)
for number in range(count):
    connection.execute("BEGIN IMMEDIATE")
    event = AuditEvent(at=number, kind="deny", rule="r", outcome="deny", sender=name)
    append(connection, [event, event])
    connection.execute("COMMIT")
    print(number, flush=True)
"""


def appending(path, name, count):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(APPENDING), str(path), name, str(count)],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_several_processes_append_to_one_new_log(tmp_path):
    path = tmp_path / FILE_NAME
    processes = [appending(path, f"p{number}", 40) for number in range(4)]
    assert [process.communicate(timeout=60)[0].count("\n") for process in processes] == [40] * 4
    assert [process.returncode for process in processes] == [0] * 4
    with closing(open_for_reading(path)) as connection:
        assert verified(connection)[::2] == (320, None)
        senders = [json.loads(record.event)["sender"] for record in records(connection)]
    assert senders[::2] == senders[1::2]  # a transaction's two events stand together


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.01])
def test_a_kill_leaves_no_half_transaction_and_loses_no_acknowledged_one(tmp_path, delay):
    path = tmp_path / FILE_NAME
    process = appending(path, "killed", 100_000)
    assert process.stdout is not None
    acknowledged = [process.stdout.readline() for _ in range(20)]
    time.sleep(delay)
    os.kill(process.pid, signal.SIGKILL)
    rest = process.communicate(timeout=60)[0].splitlines()
    with closing(open_for_reading(path)) as connection:
        found = verified(connection)
    assert found.broken is None
    assert found.records % 2 == 0
    assert found.records >= 2 * (len(acknowledged) + len([line for line in rest if line]))
    again = appending(path, "again", 1)
    again.communicate(timeout=60)
    with closing(open_for_reading(path)) as connection:
        assert verified(connection)[::2] == (found.records + 2, None)
