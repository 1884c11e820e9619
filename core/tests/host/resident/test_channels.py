"""Channels of a host that stays: started again when they fail, and changed while it runs."""

from __future__ import annotations

import signal
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")


def channels(serving) -> list[dict]:
    client = serving.client()  # a command that asks the same is a process each time
    found = client.call("status")["channels"]
    client.close()
    return found


def channel(serving) -> dict:
    (found,) = channels(serving)
    return found


def lines(serving, name: str) -> list[str]:
    file = serving.folder / name
    return file.read_text().splitlines() if file.exists() else []


def test_every_channel_is_run_and_answers(serving) -> None:
    (serving.folder / "in").write_text("1 hello\n2 again\n")
    serving.start()
    serving.wait_for(lambda: len(lines(serving, "out")) == 2)
    assert lines(serving, "out") == [": hello", ": again"]
    assert (channel(serving)["name"], channel(serving)["state"]) == ("mail", "running")


def test_what_came_in_before_it_was_killed_is_answered_once(serving) -> None:
    (serving.folder / "in").write_text('1 call slow {"seconds": 0.5}\n2 after\n')
    serving.start()
    serving.wait_for(lambda: lines(serving, "log") == ["slow 1"])
    serving.kill()
    serving.start()
    serving.wait_for(lambda: ": after" in lines(serving, "out"))
    assert (serving.folder / "out").read_text().count("slept") == 1
    assert lines(serving, "out").count(": after") == 1
    assert serving.status()["store"]["open_turns"] == 0


def test_one_that_fails_is_shown_and_started_again(serving) -> None:
    (serving.folder / "fail").write_text("the line is dead")
    (serving.folder / "in").write_text("1 hello\n")
    serving.start()
    serving.wait_for(lambda: channel(serving)["state"] == "waiting")
    assert "the line is dead" in channel(serving)["error"]
    assert serving.status()["host"]["state"] == "ready"
    health = serving.client().call("health")
    assert health["ready"] is True
    assert "mail" in health["problems"][0]
    serving.wait_for(lambda: channel(serving)["failures"] >= 2)
    shown = serving.command("status").stdout
    assert "waiting" in shown
    assert "the line is dead" in shown
    (serving.folder / "fail").unlink()
    serving.wait_for(lambda: lines(serving, "out") == [": hello"])
    assert channel(serving)["state"] == "running"


def test_a_rescan_does_not_wait_for_it(serving) -> None:
    (serving.folder / "fail").write_text("the line is dead")
    (serving.folder / "in").write_text("1 hello\n")
    serving.start()
    serving.wait_for(lambda: channel(serving)["failures"] >= 3)  # the next pause is 4 s
    (serving.folder / "fail").unlink()
    ended = serving.command("plugins", "rescan")
    assert "Nothing came or went" in ended.stdout, ended.stderr
    serving.wait_for(lambda: lines(serving, "out") == [": hello"], 2)


def test_one_that_ends_by_itself_is_left_alone(serving) -> None:
    (serving.folder / "end").touch()
    serving.start()
    serving.wait_for(lambda: channel(serving)["state"] == "ended")
    assert channel(serving)["failures"] == 0


def test_one_that_is_added_to_the_settings_runs_at_once_and_goes_with_them(serving) -> None:
    (serving.folder / "in").write_text("1 hello\n")
    serving.start()
    assert serving.command("config", "set", "channels.post.type", "mail").returncode == 0
    serving.wait_for(lambda: channel(serving)["name"] == "post")
    serving.wait_for(lambda: channel(serving)["state"] == "running")
    assert serving.command("config", "unset", "channels.post").returncode == 0
    serving.wait_for(lambda: channel(serving)["name"] == "mail")


def test_a_plugin_that_is_disabled_takes_its_channel_with_it(serving) -> None:
    serving.start()
    assert serving.command("plugins", "disable", "shop").returncode == 0
    serving.wait_for(lambda: channels(serving) == [])
    assert serving.command("plugins", "enable", "shop").returncode == 0
    serving.wait_for(lambda: channel(serving)["state"] == "running")


def test_settings_are_read_again_at_a_signal(serving) -> None:
    process = serving.start()
    client = serving.client()
    file = serving.home / "config" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[agent]\nmodel = "m7"\n')
    process.send_signal(signal.SIGHUP)
    serving.wait_for(lambda: client.call("submit", text="hi", chat="c")["text"] == "m7: hi")
    assert client.call("status")["restart_needed"] == []


def test_wrong_settings_change_nothing_and_are_told(serving) -> None:
    process = serving.start()
    client = serving.client()
    file = serving.home / "config" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[agent]\nmodle = "m7"\n')
    process.send_signal(signal.SIGHUP)
    serving.wait_for(lambda: "modle" in client.call("status")["problem"])
    assert client.call("submit", text="hi", chat="c")["text"] == ": hi"
    ended = serving.command("serve", "--reload")
    assert ended.returncode == 3
    assert "modle" in ended.stderr
    file.write_text('[agent]\nmodel = "m7"\n')
    ended = serving.command("serve", "--reload")
    assert (ended.returncode, "agent.model" in ended.stdout) == (0, True)
    assert client.call("status")["problem"] == ""


def test_what_counts_only_after_a_restart_is_said(serving) -> None:
    serving.start()
    ended = serving.command("config", "set", "turns.slots", "3")
    assert "turns.slots" in ended.stderr
    assert serving.status()["host"]["restart_needed"] == ["turns.slots"]
    assert "turns.slots" in serving.command("status").stdout
    assert serving.command("config", "set", "turns.slots", "16").returncode == 0
    assert serving.status()["host"]["restart_needed"] == []


def test_a_rule_counts_from_the_next_call_on(serving) -> None:
    serving.start()
    assert serving.command("tools", "call", "where").returncode == 0
    rule = '[{action = "deny", tool = "where"}]'
    assert serving.command("config", "set", "policy.rules", rule).returncode == 0
    assert serving.command("tools", "call", "where").returncode == 8
    assert serving.command("config", "unset", "policy.rules").returncode == 0
    assert serving.command("tools", "call", "where").returncode == 0
