from __future__ import annotations

import json
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime

import pytest

from pegboard.cli.audit import earliest
from pegboard.contracts.errors import UsageError

REFUSED = """
from pegboard.cli.main import main
for tool in ("weather_hello", "news_hello", "weather_hello"):
    assert main(["tools", "call", tool, "--as", "guest"]) != 0
"""


@pytest.fixture
def recorded(here):
    """An environment with three events in its audit log."""
    here.working_plugin()
    here.working_plugin("news")
    ended = here.python_run(["-c", REFUSED])
    assert ended.code == 0, ended.err
    return here


def database(here):
    return closing(sqlite3.connect(here.home / "state" / "pegboard.db", isolation_level=None))


def forge(here, *statements):
    with database(here) as connection:
        for name in ("audit_no_update", "audit_no_delete"):
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)


def test_a_log_that_was_never_written_is_empty_and_complete(here):
    assert here.run("audit", "list").out == "No such event was recorded.\n"
    assert here.run("audit", "list", "--json").json["events"] == []
    ended = here.run("audit", "verify", "--json")
    assert (ended.code, ended.json["ok"], ended.json["records"]) == (0, True, 0)
    assert json.loads(here.run("audit", "export").out)["records"] == 0
    assert not (here.home / "state" / "pegboard.db").exists()


def test_what_commands_were_refused_is_listed(recorded):
    ended = recorded.run("audit", "list")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert " ".join(lines[0].split()) == "TIME KIND OUTCOME TOOL RULE WHAT CALLER TIMES"
    assert lines[1].split()[4:6] == ["weather:weather_hello", "guest.allow_list"]
    assert len(lines) == 4
    path = recorded.home / "state" / "pegboard.db"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_filters_narrow_the_list(recorded):
    def tools(*options):
        events = recorded.run("audit", "list", "--json", *options).json["events"]
        return [item["event"]["tool"].split(":")[0] for item in events]

    assert tools() == ["weather", "news", "weather"]
    assert tools("--tool", "news:news_hello") == ["news"]
    assert tools("--kind", "ask") == []
    assert tools("--limit", "1") == ["weather"]
    assert tools("--since", "1h") == ["weather", "news", "weather"]
    assert tools("--since", "2999-01-01") == []
    assert recorded.run("audit", "list", "--since", "soon").code == 2
    assert recorded.run("audit", "list", "--kind", "nonsense").code == 2


def test_a_complete_log_is_confirmed_with_its_head(recorded):
    ended = recorded.run("audit", "verify", "--json")
    assert ended.code == 0
    assert ended.json["head"].startswith("3:")
    assert recorded.run("audit", "verify", "--head", ended.json["head"]).code == 0
    assert recorded.run("audit", "verify", "--head", ended.json["head"][2:]).code == 0


def test_a_broken_log_ends_with_1_and_says_where(recorded):
    forge(recorded, "DELETE FROM audit WHERE id = 2")
    ended = recorded.run("audit", "verify")
    assert ended.code == 1
    assert "record 2 is missing" in ended.out
    found = recorded.run("audit", "verify", "--json")
    assert (found.code, found.json["broken"]["id"], found.json["broken"]["problem"]) == (
        1,
        2,
        "removed",
    )


def test_a_cut_off_end_is_found_with_an_exported_log(recorded):
    export = recorded.work / "audit.jsonl"
    assert recorded.run("audit", "export", str(export)).out == f"3 events are in {export}.\n"
    assert stat.S_IMODE(export.stat().st_mode) == 0o600
    assert recorded.run("audit", "verify", "--head", str(export)).code == 0
    forge(recorded, "DELETE FROM audit WHERE id > 1")
    assert recorded.run("audit", "verify").code == 0
    ended = recorded.run("audit", "verify", "--head", str(export))
    assert ended.code == 1
    assert "ends at record 1" in ended.out


def test_an_export_is_lines_of_json(recorded):
    lines = [json.loads(line) for line in recorded.run("audit", "export").out.splitlines()]
    assert [line.get("id") for line in lines] == [1, 2, 3, None]
    assert lines[0]["event"]["rule"] == "guest.allow_list"
    assert lines[3]["head"] == f"3:{lines[2]['hash']}"


def test_what_is_no_head_is_refused(recorded):
    ended = recorded.run("audit", "verify", "--head", "nothing")
    assert ended.code == 2
    assert "pegboard audit export FILE" in ended.err


def test_a_newer_store_is_refused_by_reading_commands(recorded):
    with database(recorded) as connection:
        connection.execute("PRAGMA user_version=99")
    ended = recorded.run("audit", "list")
    assert ended.code == 1
    assert "written by a newer Pegboard" in ended.err
    assert "pip install --upgrade pegboard" in ended.err


def test_a_refusal_stands_though_the_log_can_not_be_written(here):
    here.working_plugin()
    (here.home / "state").mkdir(parents=True)
    (here.home / "state" / "pegboard.db").write_text("no database " * 500)
    ended = here.run("tools", "call", "weather_hello", "--as", "guest")
    assert "not found" in ended.out + ended.err
    assert "the audit log misses an event" in ended.err


def test_an_exported_key_does_not_appear_in_an_error(here):
    key = "zz-quite-a-secret-9"
    ended = here.run("--set", f"agent.{key}=1", "doctor", env={"SOME_API_KEY": key})
    shown = here.run("plugins", "why", key, env={"SOME_API_KEY": key})
    assert shown.code != 0
    assert key not in ended.err + shown.err + shown.out
    assert "[redacted]" in shown.err
    assert key in here.run("plugins", "why", key).err


NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30m", NOW.timestamp() - 1800),
        ("2h", NOW.timestamp() - 7200),
        ("7d", NOW.timestamp() - 7 * 86400),
        ("2026-05-01T12:00+00:00", NOW.timestamp()),
    ],
)
def test_times_and_ages_are_understood(text, expected):
    assert earliest(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "2h30", "-1d", "99999999999999w"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(UsageError, match="--since takes"):
        earliest(text, NOW)
