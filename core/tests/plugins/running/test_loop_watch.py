"""Code that holds the event loop is named, and does not keep the host from ending."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import anyio
import pytest

from pegboard.plugins.decision.state import PluginRecord, State
from pegboard.plugins.discovery.scan import scan
from pegboard.plugins.running.loop_watch import LoopWatch, holder
from pegboard.testing.dists import make_dist

pytestmark = pytest.mark.anyio


def records(folder):
    make_dist(folder, "pegboard-web")
    make_dist(folder, "pegboard-git")
    return [PluginRecord(found, None, State.ACTIVE) for found in scan([str(folder)])]


def test_the_innermost_plugin_of_a_stack_holds_the_loop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = records(tmp_path / "site")
    stack = [
        ("/opt/asyncio/events.py", 80),
        (str(tmp_path / "site/pegboard_git/plugin.py"), 3),
        (str(tmp_path / "site/pegboard_web/plugin.py"), 7),
        ("/opt/ssl.py", 9),
    ]
    assert holder(stack, found) == ("web", "site/pegboard_web/plugin.py:7")
    assert holder(stack[:2], found) == ("git", "site/pegboard_git/plugin.py:3")
    assert holder(stack[:1], found) == ("", "/opt/asyncio/events.py:80")
    assert holder([], found) == ("", "an unknown place")


async def test_a_loop_that_stands_still_is_told_once_with_its_place():
    told, come = [], threading.Event()

    def report(who, what):
        told.append((who, what))
        come.set()

    watch = LoopWatch(lambda: (), report, limit_s=0.02, every_s=0.01)
    watch.begin()
    try:
        come.wait(20)  # holds the loop until it is told
        await anyio.sleep(0.05)
    finally:
        watch.end()
    who, what = told[0]
    assert who == "?"
    assert "it holds the event loop for 0.02 s" in what
    assert "threading.py:" in what


async def test_a_loop_that_goes_round_is_left_alone():
    told = []
    watch = LoopWatch(lambda: (), lambda *words: told.append(words), limit_s=60, every_s=0.01)
    watch.begin()
    await anyio.sleep(0.1)
    watch.end()
    assert told == []


async def test_a_loop_that_answers_as_soon_as_its_process_goes_on_is_left_alone(monkeypatch):
    told, asked_again = [], threading.Event()

    class Late(threading.Event):
        waits = 0

        def wait(self, timeout=None):
            self.waits += 1
            if self.waits > 1:
                asked_again.set()
            return self.waits > 1

    monkeypatch.setattr("pegboard.plugins.running.loop_watch.asked", lambda loop: Late())
    watch = LoopWatch(lambda: (), lambda *words: told.append(words), limit_s=0.01, every_s=0.01)
    watch.begin()
    assert await anyio.to_thread.run_sync(asked_again.wait, 20)
    watch.end()
    assert told == []


HELD = """
import sys, time
import anyio
from pegboard.cli import signals

signals.LIMIT_S = float(sys.argv[1])

async def hold():
    print("held", flush=True)
    while True:
        time.sleep(0.05)

anyio.run(signals.run_until_told, hold)
"""


@pytest.mark.parametrize(("limit", "signals"), [("0.2", 1), ("600", 2)])
def test_a_command_whose_loop_is_held_ends_by_a_signal_nevertheless(limit, signals):
    words = [sys.executable, "-c", HELD, limit]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as child:
        assert child.stdout.readline() == "held\n"
        for _ in range(signals):
            child.send_signal(signal.SIGTERM)
            time.sleep(0.3)
        assert child.wait(30) == 128 + signal.SIGTERM
        said = child.stderr.read()
    assert ("the event loop is held in" in said) is (signals == 1)
