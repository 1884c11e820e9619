"""`pegboard serve` as processes: one owns the store, and nothing is lost however it ends."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")


def log(serving) -> list[str]:
    file = serving.folder / "log"
    return file.read_text().splitlines() if file.exists() else []


def submit(client, text: str, **more) -> int:
    return client.send("submit", text=text, chat=more.pop("chat", "c"), **more)


def test_a_second_one_says_who_holds_the_store(serving) -> None:
    first = serving.start()
    ended = serving.command("serve")
    assert ended.returncode == 1
    assert f"process {first.pid}" in ended.stderr
    assert "pegboard serve --stop" in ended.stderr
    assert serving.status()["host"]["pid"] == first.pid


def test_it_is_ready_says_so_and_ends_in_order(serving) -> None:
    serving.start()
    assert (serving.folder / "ready").read_text().strip() == str(serving.process.pid)
    assert serving.command("status", "--ready").returncode == 0
    client = serving.client()
    health = client.call("health")
    assert health == {"live": True, "ready": True, "state": "ready", "problems": []}
    code, errors = serving.end()
    assert (code, "Traceback" in errors) == (0, False)
    assert "Ended: SIGTERM came." in errors
    assert not (serving.folder / "ready").exists()
    assert list(serving.state.glob("control*")) == []
    assert serving.command("status", "--ready").returncode == 1


def test_ctrl_c_ends_it_as_well(serving) -> None:
    serving.start()
    assert serving.end(signal.SIGINT)[0] == 0


def test_a_command_ends_it(serving) -> None:
    process = serving.start()
    ended = serving.command("serve", "--stop")
    assert ended.returncode == 0, ended.stderr
    assert f"process {process.pid}, has ended" in ended.stdout
    assert process.wait(20) == 0
    assert "No host is running" in serving.command("serve", "--stop").stdout


def test_only_its_owner_can_reach_it(serving) -> None:
    serving.start()
    path = serving.status()["host"]["socket"]
    mode = Path(path).stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600


def test_a_turn_that_was_running_when_it_was_killed_is_finished_by_the_next(serving) -> None:
    serving.start()
    client = serving.client()
    submit(client, 'call slow {"seconds": 1}')
    serving.wait_for(lambda: log(serving) == ["slow 1"])
    serving.kill()
    assert serving.status()["store"]["open_turns"] == 1
    serving.start()
    serving.wait_for(lambda: serving.status()["store"]["open_turns"] == 0)
    assert log(serving) == ["slow 1", "slow 2"]
    key = json.loads(serving.command("sessions", "list", "--json").stdout)["sessions"][0]["id"]
    assert "slept" in serving.command("sessions", "show", key).stdout


def test_a_socket_that_a_killed_host_left_is_no_host(serving) -> None:
    serving.start()
    serving.kill()
    assert (serving.state / "control.sock").exists() or (serving.state / "control.path").exists()
    assert serving.status()["host"] is None
    assert "No host is running" in serving.command("plugins", "rescan").stdout
    serving.start()
    assert serving.status()["host"]["state"] == "ready"


def test_a_turn_that_runs_has_time_to_end(serving) -> None:
    process = serving.start()
    client = serving.client()
    id = submit(client, 'call slow {"seconds": 1}')
    serving.wait_for(lambda: log(serving) == ["slow 1"])
    process.send_signal(signal.SIGTERM)
    answer = client.until(id)
    assert answer["ok"]["status"] == "done"
    assert "slept" in answer["ok"]["text"]
    assert process.wait(20) == 0
    assert serving.status()["store"]["open_turns"] == 0


def test_what_does_not_end_in_time_is_handed_on(serving) -> None:
    process = serving.start("--set", "serve.drain_s=0.2")
    client = serving.client()
    id = submit(client, 'call slow {"seconds": 2}')
    serving.wait_for(lambda: log(serving) == ["slow 1"])
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    answer = client.until(id)
    assert answer["ok"]["error"]["code"] == "host_stopped"
    assert process.wait(20) == 0
    assert time.monotonic() - began < 2
    assert serving.status()["store"]["open_turns"] == 1
    serving.start()
    serving.wait_for(lambda: serving.status()["store"]["open_turns"] == 0)
    assert log(serving) == ["slow 1", "slow 2"]


def test_a_second_signal_ends_it_at_once(serving) -> None:
    process = serving.start()
    client = serving.client()
    submit(client, 'call slow {"seconds": 20}')
    serving.wait_for(lambda: log(serving) == ["slow 1"])
    process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert serving.status()["store"]["open_turns"] == 1


def test_while_it_ends_it_takes_nothing_more(serving) -> None:
    process = serving.start()
    client, other = serving.client(), serving.client()
    submit(client, 'call slow {"seconds": 1}')
    serving.wait_for(lambda: log(serving) == ["slow 1"])
    process.send_signal(signal.SIGTERM)
    serving.wait_for(lambda: other.call("health")["state"] == "draining")
    answer = other.until(submit(other, "hello", chat="d"))
    assert answer["error"]["code"] == "host_stopping"
    assert process.wait(20) == 0


def test_a_client_that_goes_away_takes_no_turn_with_it(serving) -> None:
    serving.start()
    client = serving.client()
    submit(client, 'call slow {"seconds": 0.5}')
    serving.wait_for(lambda: log(serving) == ["slow 1"])
    client.close()
    serving.wait_for(lambda: serving.status()["store"]["open_turns"] == 0)
    assert "slept" in serving.command("sessions", "export", "terminal/c").stdout


def test_it_waits_for_a_command_that_uses_the_store(serving) -> None:
    code = (
        "import time, sys\n"
        "from pathlib import Path\n"
        "from pegboard.store.host_lock import HostLock\n"
        "lock = HostLock(Path(sys.argv[1]) / 'pegboard.lock')\n"
        "print('locked', flush=True)\n"
        "time.sleep(1.0)\n"
    )
    serving.state.mkdir(parents=True)
    argv = [sys.executable, "-c", code, str(serving.state)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        other.stdout.readline()
        serving.start()
    assert serving.status()["host"]["state"] == "ready"


def test_a_host_of_a_command_can_not_write_beside_it(serving) -> None:
    process = serving.start()
    code = (
        "import anyio\n"
        "from pegboard import HostOptions, open_host\n"
        "async def main():\n"
        "    async with open_host(HostOptions()) as host:\n"
        "        await host.sessions.named('')\n"
        "anyio.run(main)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=serving.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert f"belongs to a running host, process {process.pid}" in ended.stderr


def test_commands_that_only_read_work_beside_it(serving) -> None:
    serving.start()
    serving.client().call("submit", text="hello", chat="c")
    for words in (
        ["tools", "list"],
        ["why", "slow"],
        ["doctor"],
        ["store", "check"],
        ["store", "stats"],
        ["audit", "verify"],
        ["sessions", "list"],
        ["plugins", "list"],
    ):
        ended = serving.command(*words)
        assert "running host" not in ended.stderr, words
        assert "Traceback" not in ended.stderr, words


def test_settings_of_one_command_are_refused_since_the_host_has_its_own(serving) -> None:
    process = serving.start()
    ended = serving.command("--set", "agent.max_steps=3", "tools", "call", "where")
    assert ended.returncode == 2
    assert f"process {process.pid}" in ended.stderr
    assert "pegboard config set agent.max_steps" in ended.stderr
    assert serving.command("--safe", "tools", "call", "where").returncode == 2


def test_the_path_of_its_home_may_be_long(serving) -> None:
    home = serving.folder / ("long" * 30) / "home"
    serving.env["PEGBOARD_HOME"] = str(home)
    serving.state = home / "state"
    serving.start()
    status = serving.status()["host"]
    assert len(status["socket"]) < 104
    note = serving.state / "control.path"
    assert note.read_text().strip() == status["socket"]
    assert serving.command("tools", "call", "where").stdout.strip() == str(serving.folder)
    assert serving.end()[0] == 0
    assert not Path(status["socket"]).exists()
