"""A change of the host itself, by the person at this machine, is an event of the audit log."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")


def admin_events(serving) -> list[tuple[str, str, str]]:
    ended = serving.command("audit", "list", "--kind", "admin", "--json")
    assert ended.returncode == 0, ended.stderr
    events = [record["event"] for record in json.loads(ended.stdout)["events"]]
    return [(event["rule"], event["sender"], event["subject"]) for event in events]


def test_settings_that_are_taken_over_are_recorded_without_what_they_are(serving) -> None:
    serving.start()
    folder = serving.folder / "granted"
    folder.mkdir()
    for words in (
        ("config", "set", "agent.model", "m-secret"),
        ("config", "set", "budgets.cost_per_day", "5"),
        ("grant", str(folder), "--write"),
        ("revoke", str(folder)),
        ("plugins", "disable", "terminal"),
    ):
        ended = serving.command(*words)
        assert ended.returncode == 0, ended.stderr
    ended = subprocess.run(
        [sys.executable, "-m", "pegboard", "secret", "set", "SOME_KEY"],
        cwd=serving.folder,
        env=serving.env,
        input="s3cret-value",
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    person = "local:person"
    assert admin_events(serving) == [
        ("config.set", person, "agent.model"),
        ("config.set", person, "budgets.cost_per_day"),
        ("grant", person, f"{folder} (rw)"),
        ("revoke", person, str(folder)),
        ("plugins.disable", person, "terminal"),
        ("secret.set", person, "SOME_KEY"),
    ]
    told = serving.command("audit", "list", "--json").stdout
    assert "m-secret" not in told
    assert "s3cret-value" not in told
    assert "agent.model" in serving.command("audit", "list").stdout


def test_settings_that_were_edited_are_recorded_by_their_keys(serving) -> None:
    process = serving.start()
    file = serving.home / "config" / "config.toml"
    text = file.read_text() if file.exists() else ""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'{text}\n[policy.senders]\n"desk:1" = "guest"\n')
    process.send_signal(signal.SIGHUP)
    log = serving.home / "state" / "logs" / "pegboard.log"
    for _ in range(600):
        if "settings were read again" in log.read_text():
            break
        time.sleep(0.05)
    ((rule, sender, subject),) = admin_events(serving)
    assert (rule, sender) == ("config.reload", "local:person")
    assert 'policy.senders."desk:1"' in subject


def test_where_no_host_stays_each_command_records_what_it_changed(serving) -> None:
    process = serving.start()
    process.terminate()
    process.wait(30)
    folder = serving.folder / "granted"
    folder.mkdir()
    for words in (("config", "set", "log.level", "debug"), ("grant", str(folder))):
        assert serving.command(*words).returncode == 0
    assert admin_events(serving) == [
        ("config.set", "local:person", "log.level"),
        ("grant", "local:person", f"{folder} (ro)"),
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
