"""`pegboard sessions` on a store into which a real host has written."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import time

import pytest

from pegboard.contracts.caller import Caller
from pegboard.contracts.message import CallResult, Message, ToolCall, tool_message
from pegboard.contracts.result import Text
from pegboard.contracts.turn import Begun, Incoming
from pegboard.contracts.wire import CALLER, MESSAGE
from pegboard.conversations.short_id import short_id
from pegboard.store.database import Database
from pegboard.store.embedded import EmbeddedStore
from pegboard.store.host_lock import HostLock
from pegboard.store.migrations import MIGRATIONS

ANN, BOB = "slack:ann", "terminal:bob"
OAKS, ELMS = "slack/oaks", "terminal/elms"


def tell(here, *turns) -> None:
    """Write turns into the store: `(sender, text, key, at, more messages)`."""

    async def write() -> None:
        store = EmbeddedStore(Database(here.home / "state"))
        for number, (sender, text, key, at, *more) in enumerate(turns):
            turn = f"turn-{at:010.0f}-{number}"
            channel, _, chat = key.partition("/")
            await store.ingest(
                Incoming(
                    turn=turn,
                    key=key,
                    channel=channel,
                    chat=chat,
                    message={"text": text},
                    caller=CALLER.write(Caller(sender=sender)),
                    at=at,
                )
            )
            begun = await store.begin(turn, now=at, max_attempts=3)
            assert isinstance(begun, Begun)
            said = (Message.of("user", text), *more, Message.of("assistant", f"answer to {text}"))
            await store.finish(
                turn,
                begun.turn.fence,
                state="done",
                now=at,
                messages=[MESSAGE.write(message) for message in said],
            )
        await store.aclose()

    asyncio.run(write())


@pytest.fixture
def told(here):
    """An environment with two conversations."""
    step = (
        Message("assistant", calls=(ToolCall("c1", "file_read", '{"path": "a.txt"}'),)),
        tool_message([CallResult("c1", "file_read", (Text("```\nHello\n```"),))]),
    )
    tell(
        here,
        (ANN, "about oaks", OAKS, 1_000.0),
        (BOB, "about elms", ELMS, 2_000.0, *step),
        (BOB, "more of elms", ELMS, 3_000.0),
    )
    return here


def ids(ended) -> list[str]:
    return [item["key"] for item in ended.json["sessions"]]


def test_where_nothing_was_said_there_are_none(here) -> None:
    assert here.run("sessions", "list").out == "There are no conversations yet.\n"
    assert here.run("sessions", "list", "--json").json["sessions"] == []
    ended = here.run("sessions", "show", "x1")
    assert ended.code == 2
    assert "There is no conversation 'x1'." in ended.err
    assert "pegboard sessions list" in ended.err
    assert not (here.home / "state" / "pegboard.db").exists()


def test_a_store_of_before_there_were_conversations_has_none(here) -> None:
    async def old() -> None:
        database = Database(here.home / "state", migrations=MIGRATIONS[:1])
        await database.open()
        await database.aclose()

    asyncio.run(old())
    assert here.run("sessions", "list", "--json").json["sessions"] == []


def test_conversations_are_listed_the_latest_first(told) -> None:
    ended = told.run("sessions", "list")
    assert ended.code == 0, ended.err
    head, first, second = ended.out.splitlines()
    assert head.split() == ["ID", "LAST", "TURNS", "OPEN", "CHANNEL", "TITLE"]
    assert first.split()[0] == short_id(ELMS)
    assert first.split()[3] == "2"
    assert second.split()[-3:] == ["slack", "about", "oaks"]
    assert ids(told.run("sessions", "list", "--json", "--channel", "slack")) == [OAKS]
    assert ids(told.run("sessions", "list", "--json", "--limit", "1")) == [ELMS]


def test_a_conversation_is_shown_by_the_beginning_of_its_id_or_key(told) -> None:
    for name in (short_id(ELMS), short_id(ELMS)[:5], ELMS, "terminal/e"):
        ended = told.run("sessions", "show", name)
        assert ended.code == 0, ended.err
        assert "person: about elms" in ended.out
        assert 'file_read {"path": "a.txt"}' in ended.out
        assert "agent: answer to more of elms" in ended.out
        assert "oaks" not in ended.out
    last = told.run("sessions", "show", ELMS, "--last", "1", "--json").json
    assert [turn["seq"] for turn in last["turns"]] == [2]
    assert last["turns"][0]["messages"][0] == {"role": "user", "text": "more of elms"}


def test_an_unknown_or_unclear_name_says_what_is_near(told) -> None:
    ended = told.run("sessions", "show", "slack/oakz")
    assert (ended.code, "The nearest is slack/oaks." in ended.err) == (2, True)
    tell(told, (BOB, "elms again", "terminal/elder", 4_000.0))
    ended = told.run("sessions", "show", "terminal/el", "--json")
    assert ended.code == 2
    assert "may be" in ended.json["error"]["message"]


def test_a_conversation_is_exported_as_lines_of_json(told) -> None:
    ended = told.run("sessions", "export", ELMS)
    first, *turns = map(json.loads, ended.out.splitlines())
    assert (first["kind"], first["version"], first["key"]) == ("session", 1, ELMS)
    assert [turn["seq"] for turn in turns] == [1, 2]
    assert MESSAGE.read(turns[0]["messages"][0]) == Message.of("user", "about elms")


def test_a_conversation_is_exported_as_markdown(told) -> None:
    file = told.work / "elms.md"
    ended = told.run("sessions", "export", ELMS, "-o", str(file))
    assert ended.code == 0, ended.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text()
    assert text.startswith("# about elms\n")
    assert "**person:**\n\nabout elms\n" in text
    assert '```json\n{"path": "a.txt"}\n```\n' in text
    assert "````\n```\nHello\n```\n````\n" in text, "a block that nothing inside can close"


def test_all_that_is_kept_of_a_person_is_exported(told) -> None:
    lines = told.run("sessions", "export", "--sender", BOB).out.splitlines()
    first, *items = map(json.loads, lines)
    assert first == {"kind": "person", "sender": BOB, "version": 1}
    assert sorted({item["kind"] for item in items}) == ["conversation", "said", "turn"]
    assert "oaks" not in "".join(lines)
    assert told.run("sessions", "export", "--sender", "nobody:1").out.count("\n") == 1


@pytest.mark.parametrize(
    "words", [(), ("a1", "--sender", "b"), ("--sender", "b", "--format", "markdown")]
)
def test_an_export_of_nothing_or_of_two_things_is_refused(told, words) -> None:
    assert told.run("sessions", "export", *words).code == 2


def test_a_conversation_is_erased_after_a_question(told) -> None:
    ended = told.run("sessions", "delete", OAKS)
    assert ended.code == 2
    assert "--yes" in ended.err
    assert len(ids(told.run("sessions", "list", "--json"))) == 2
    shown = told.in_terminal("sessions", "delete", OAKS, typed="n\n", after="[y/N]")
    assert shown.code == 1
    assert "about oaks" in shown.out
    ended = told.run("sessions", "delete", OAKS, "--yes")
    assert (ended.code, ended.out) == (0, "1 of 1 erased.\n")
    assert ids(told.run("sessions", "list", "--json")) == [ELMS]
    assert told.run("sessions", "delete", OAKS, "--yes").code == 2


def test_a_person_is_erased(told) -> None:
    ended = told.run("sessions", "delete", "--sender", BOB, "--yes", "--json")
    assert ended.code == 0, ended.err
    assert ended.json == {
        "version": 1,
        "sender": BOB,
        "conversations": 1,
        "turns": 2,
        "spendings": 0,
        "blobs": 0,
    }
    assert ids(told.run("sessions", "list", "--json")) == [OAKS]
    assert told.run("sessions", "delete").code == 2
    assert told.run("sessions", "delete", OAKS, "--sender", BOB, "--yes").code == 2


def test_a_copy_goes_on_in_the_terminal(told) -> None:
    ended = told.run("sessions", "fork", OAKS, "--json")
    assert ended.code == 0, ended.err
    copy = ended.json["session"]
    assert (copy["channel"], copy["title"]) == ("terminal", "about oaks")
    assert ended.json["source"]["key"] == OAKS
    assert "person: about oaks" in told.run("sessions", "show", copy["id"]).out
    assert "pegboard chat --resume" in told.run("sessions", "fork", OAKS).out


def test_resume_says_how_where_nobody_is_there(told) -> None:
    ended = told.run("sessions", "resume", "terminal/e")
    assert ended.out == f"pegboard chat --resume {short_id(ELMS)}\n"
    assert told.run("sessions", "resume", ELMS, "--json").json["command"][1:] == [
        "chat",
        "--resume",
        short_id(ELMS),
    ]
    ended = told.run("sessions", "resume", OAKS)
    assert ended.code == 2
    assert "the channel slack" in ended.err
    assert f"pegboard sessions fork {short_id(OAKS)}" in ended.err


def test_resume_without_the_terminal_plugin_says_what_to_install(told) -> None:
    shown = told.in_terminal("sessions", "resume", ELMS)
    assert shown.code == 4
    assert "pip install pegboard-terminal" in shown.out


def test_what_is_read_is_read_while_a_host_owns_the_store_and_changes_are_refused(told) -> None:
    lock = HostLock(told.home / "state" / "pegboard.lock", exclusive=True)
    try:
        assert len(ids(told.run("sessions", "list", "--json"))) == 2
        assert told.run("sessions", "export", "--sender", BOB).code == 0
        ended = told.run("sessions", "delete", OAKS, "--yes")
        assert ended.code != 0
        assert f"process {os.getpid()}" in ended.err
    finally:
        lock.release()
    assert len(ids(told.run("sessions", "list", "--json"))) == 2


def test_old_turns_are_pruned_as_the_settings_say(told) -> None:
    tell(told, (BOB, "just now", "terminal/new", time.time()))
    assert told.run("store", "prune", "--json").json["turns"] == 0
    told.write_config("[store]\nkeep_days = 30\n")
    ended = told.run("store", "prune")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("Erased: 3 turns, 0 files of 0 bytes.")
    assert ids(told.run("sessions", "list", "--json")) == ["terminal/new"]
