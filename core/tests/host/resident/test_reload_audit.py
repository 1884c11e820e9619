"""A change of the host itself, by the person at this machine, is an event of the audit log."""

from __future__ import annotations

import json
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")


def admin_events(serving) -> list[tuple[str, str, int]]:
    ended = serving.command("audit", "list", "--kind", "admin", "--json")
    assert ended.returncode == 0, ended.stderr
    events = [record["event"] for record in json.loads(ended.stdout)["events"]]
    return [(event["rule"], event["sender"], event["count"]) for event in events]


def test_settings_that_are_taken_over_are_recorded_without_what_they_are(serving) -> None:
    serving.start()
    assert serving.command("config", "set", "agent.model", "m-secret").returncode == 0
    assert admin_events(serving) == [("config.reload", "local:person", 1)]
    assert "m-secret" not in serving.command("audit", "list", "--json").stdout


def test_where_no_host_stays_each_command_records_what_it_changed(serving) -> None:
    process = serving.start()
    process.terminate()
    process.wait(30)
    folder = serving.folder / "granted"
    folder.mkdir()
    for words in (("config", "set", "log.level", "debug"), ("grant", str(folder))):
        assert serving.command(*words).returncode == 0
    assert admin_events(serving) == [
        ("config.set", "local:person", 1),
        ("grant", "local:person", 1),
    ]
    assert serving.command("audit", "verify").returncode == 0


def test_before_there_is_a_store_none_is_made_for_it(serving) -> None:
    assert serving.command("config", "set", "log.level", "debug").returncode == 0
    assert not (serving.home / "state" / "pegboard.db").exists()


def test_a_grant_and_its_end_count_in_a_host_that_runs(serving) -> None:
    serving.start()
    folder = serving.folder / "granted"
    folder.mkdir()
    log = serving.home / "state" / "logs" / "pegboard.log"
    taken = "settings were read again: sandbox.grants"
    assert serving.command("grant", str(folder)).returncode == 0
    assert log.read_text().count(taken) == 1
    assert serving.command("revoke", str(folder)).returncode == 0
    assert log.read_text().count(taken) == 2
