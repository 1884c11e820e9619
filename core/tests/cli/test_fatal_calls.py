"""A call that ended its host is named afterwards, with its plugin and what to do."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from pegboard.store.fatal_calls import FatalCall, FatalCalls

SAID = "The host died while weather:weather_hello of conversation tg/1 ran."
DIES = """
import os, sys, time
from pathlib import Path
import anyio
from pegboard.contracts.turn import CallRecord, Incoming
from pegboard.store.embedded import open_store

async def main():
    store = await open_store(Path(sys.argv[1]))
    await store.ingest(Incoming(turn="t1", key="tg/1", channel="tg", chat="1",
        message={"text": "hi"}, caller={}, at=time.time()))
    begun = await store.begin("t1", now=time.time(), max_attempts=3)
    fence = begun.turn.fence
    await store.intend("t1", fence, [
        CallRecord(id="c1", kind="tool", name="scripts:run"),
        CallRecord(id="c1.1", kind="tool", name="weather:weather_hello"),
        CallRecord(id="c2", kind="tool", name="weather:other", result={"output": "it ended"}),
    ])
    os._exit(3)

anyio.run(main)
"""


@pytest.fixture
def died(here):
    """Return an environment in which a host died in the middle of a call."""
    here.working_plugin()
    program = [sys.executable, "-c", DIES, str(here.home / "state")]
    assert subprocess.run(program, check=False, timeout=60).returncode == 3
    return here


def words(ended) -> str:
    return " ".join(ended.out.split())


def test_it_is_named_before_anybody_takes_the_turn_up(died):
    fix = "unless it was ended from outside: pegboard plugins disable weather"
    said = words(died.run("status"))
    assert SAID in said
    assert f"fix {fix}" in said
    assert "scripts:run" not in said
    (call,) = died.run("status", "--json").json["fatal_calls"]
    assert (call["tool"], call["times"], call["fix"]) == ("weather:weather_hello", 1, fix)
    checks = died.run("doctor", "--json").json["checks"]
    assert ["warning", "weather", SAID, fix] in [list(check.values()) for check in checks]
    assert SAID in words(died.run("plugins", "why", "weather"))


def test_it_is_named_for_a_week_and_until_another_version_is_there(died):
    file, now = FatalCalls(died.home / "state"), time.time()
    tool, version = "weather:weather_hello", "1.0.0"
    file.add(
        [
            FatalCall(tool, "t1", "c1.1", 1, now, version),  # the same as the open one
            FatalCall(tool, "t1", "c1.1", 2, now, version),
            FatalCall(tool, "erased", "c1", 1, now, version),
            FatalCall(tool, "t1", "c0", 1, now - 8 * 86_400, version),
            FatalCall(tool, "t1", "c9", 1, now, "0.9.0"),
            FatalCall("gone:x", "t1", "c8", 1, now, version),
        ]
    )
    (call,) = died.run("plugins", "why", "weather", "--json").json["fatal_calls"]
    assert (call["times"], call["conversations"]) == (3, ["tg/1"])
    assert SAID.replace("died", "died 3 times") in words(died.run("status"))


def test_a_tool_of_pegboards_own_is_not_to_be_mended_or_disabled(here):
    here.working_plugin("planning")
    call = FatalCall("planning:planning_hello", "t1", "c1", 1, time.time(), "1.0.0")
    FatalCalls(here.home / "state").add([call])
    (told,) = here.run("status", "--json").json["fatal_calls"]
    assert (told["tool"], told["fix"]) == (call.tool, "pegboard logs")


def test_where_none_died_nothing_is_said(here):
    here.working_plugin()
    assert "died" not in here.run("status").out + here.run("plugins", "why", "weather").out
    assert here.run("status", "--json").json["fatal_calls"] == []
