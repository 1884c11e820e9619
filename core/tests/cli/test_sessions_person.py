"""One person's data by name, and the trace that erasing something leaves in the audit log."""

from __future__ import annotations

import asyncio

import pytest

from pegboard.contracts.caller import Caller
from pegboard.contracts.storage import Owner
from pegboard.contracts.turn import Incoming
from pegboard.contracts.wire import CALLER
from pegboard.store.database import Database
from pegboard.store.embedded import EmbeddedStore
from pegboard.store.plugin_storage import PluginStorage
from pegboard.testing import FakeClock
from pegboard.testing.dists import built

ANN = "slack:ann"


@pytest.fixture
def told(here):
    """An environment with two conversations of one person."""

    async def write() -> None:
        store = EmbeddedStore(Database(here.home / "state"))
        for key in ("slack/oaks", "slack/elms"):
            await store.ingest(
                Incoming(
                    turn=f"turn-{key}",
                    key=key,
                    channel="slack",
                    chat=key,
                    message={"text": "hi"},
                    caller=CALLER.write(Caller(sender=ANN)),
                    at=1_000.0,
                )
            )
        await store.aclose()

    asyncio.run(write())
    return here


@pytest.mark.parametrize("name", ["ann", ":ann", ""])
@pytest.mark.parametrize("command", [["export"], ["delete", "--yes"]])
def test_a_person_without_a_channel_is_refused_and_not_found_to_have_nothing(told, command, name):
    ended = told.run("sessions", *command, "--sender", name)
    assert ended.code == 2
    assert "names none" in ended.err
    assert f"--sender CHANNEL:{name.lstrip(':')}" in ended.err


def test_it_is_said_when_nothing_is_kept_of_a_person(told):
    ended = told.run("sessions", "export", "--sender", "slack:bob")
    assert ended.code == 0
    assert ended.err == "Nothing is kept of slack:bob.\n"
    file = told.work / "bob.jsonl"
    ended = told.run("sessions", "export", "--sender", "slack:bob", "-o", str(file))
    assert ended.err == "Nothing is kept of slack:bob.\n"
    assert file.read_text().count("\n") == 1
    assert told.run("sessions", "export", "--sender", ANN).err == ""


def test_what_was_erased_leaves_the_fact_and_nothing_of_itself_in_the_audit_log(told):
    assert told.run("sessions", "delete", "slack/oaks", "--yes").code == 0
    assert told.run("sessions", "delete", "--sender", ANN, "--yes").code == 0
    log = told.run("audit", "list", "--kind", "admin", "--json")
    events = [record["event"] for record in log.json["events"]]
    assert [(event["rule"], event["outcome"], event["sender"]) for event in events] == [
        ("sessions.delete", "allow", "local:person"),
        ("sessions.delete_person", "allow", "local:person"),
    ]
    assert ANN not in log.out and "oaks" not in log.out
    assert told.run("audit", "verify").code == 0


def test_what_plugins_keep_goes_without_a_host_and_who_wants_to_know_is_told(told):
    heard = told.folder / "heard"

    async def keep() -> None:
        storage = PluginStorage("gone", told.home / "data" / "storage" / "gone", FakeClock())
        await storage.put("notes", "a", 1, of=Owner(conversation="slack/oaks"))
        await storage.put("notes", "b", 1, of=Owner(conversation="slack/elms"))
        await storage.aclose()

    async def kept() -> list[str]:
        storage = PluginStorage("gone", told.home / "data" / "storage" / "gone", FakeClock())
        try:
            return [item.key for item in await storage.list("notes")]
        finally:
            await storage.aclose()

    asyncio.run(keep())
    assert told.run("sessions", "delete", "slack/oaks", "--yes").code == 0
    assert asyncio.run(kept()) == ["b"]
    code = f"""
from pathlib import Path
from pegboard import Plugin
plugin = Plugin(summary="Listens")


@plugin.hook(events=["conversations_erased"])
def pegboard_event(event):
    Path({str(heard)!r}).write_text(" ".join(event.conversations))
"""
    built(told.plugin("listens", code=code, manifest=None))
    ended = told.run("sessions", "delete", "slack/elms", "--yes")
    assert ended.code == 0, ended.err
    assert asyncio.run(kept()) == []
    assert heard.read_text() == "slack/elms"
