"""A fixed course of verbs that calls every one, and the whole state of a store to compare.

Whoever interrupts it at a known place knows exactly what must be there afterwards.
"""

from __future__ import annotations

import itertools
import sqlite3
from contextlib import closing

from pegboard.contracts.approval import Approval
from pegboard.contracts.spending import Spending
from pegboard.contracts.transcript import Conversation
from pegboard.contracts.turn import CallRecord, Incoming

TABLES = [
    "conversation",
    "turn",
    "inbox",
    "call",
    "approval",
    "outbox",
    "message",
    "spending",
    "message_fts_docsize",
]


def incoming(turn, key="k", *, external_id="", at=1.0, text="hello", **more):
    made = {
        "turn": turn,
        "key": key,
        "channel": "chat",
        "chat": key,
        "external_id": external_id,
        "message": {"text": text},
        "caller": {"trust": "operator"},
        "at": at,
    }
    return Incoming(**{**made, **more})


def tool_call(id, **more):
    made = {"kind": "tool", "name": "files.read", "digest": "d"}
    return CallRecord(id=id, **{**made, **more})


def question(turn, call, *, key="k", subject="s", token="T1", at=10.0, **more):
    made = {
        "turn": turn,
        "call": call,
        "key": key,
        "tool": "files.write",
        "subject": subject,
        "question": "Write?",
        "rule": "ask",
        "token": token,
        "asked_at": at,
        "expires_at": at + 60,
    }
    return Approval(**{**made, **more})


def said(text, role="user"):
    return {"role": role, "parts": [{"type": "text", "text": text}]}


def steps(store, rounds=1):
    """Yield one thing after the other to await; each of them is one transaction."""
    for n in range(rounds):
        yield from _round(store, n)


def _round(store, n):
    key, clock = f"k{n}", itertools.count(100 * n + 1.0)

    def now():
        return next(clock)

    one, two, three, four = (f"t{n}-{i}" for i in (1, 2, 3, 4))
    yield store.ingest(incoming(one, key, external_id=f"m{n}", at=now()))
    yield store.ingest(incoming(two, key, at=now()))
    yield store.ingest(incoming(three, key, at=now()))
    yield store.begin(one, now=now(), max_attempts=3)
    yield store.intend(one, 1, [tool_call("a"), tool_call("b", effects=frozenset({"read"}))])
    yield store.record(one, 1, "a", {"text": "x" * 3000})
    yield store.spend(Spending(at=now(), turn=one, key=key, model="m", input=5, cost=0.1))
    yield store.ask(question(one, "b", key=key, token=f"T{n}", at=now()))
    yield store.wait(one, 1, until=None)
    yield store.answer(key, f"T{n}", agreed=True, grain="once", by="me", now=now())
    yield store.wake(one)
    yield store.begin(one, now=now(), max_attempts=3)
    yield store.release(one, 2)
    yield store.begin(one, now=now(), max_attempts=3)
    yield store.intend(one, 3, [tool_call("b")])
    yield store.record(one, 3, "b", {"text": "done"})
    yield store.reply(one, 3, [{"text": "part 0"}, {"text": "part 1"}], now=now())
    yield store.sending(one, 3, 0, now=now())
    yield store.sent(one, 0, ["id"], now=now())
    yield store.sending(one, 3, 1, now=now())
    yield store.doubt(one, 1, now=now())
    yield store.finish(one, 3, state="done", now=now(), messages=[said("hello")], tokens=9)
    yield store.doubtful(key, settle=True)
    yield store.summarize(key, through=1, messages=[said("short")], tokens=3, now=now())
    yield store.fork(key, Conversation(key=f"{key}-copy", channel="chat", chat="c", created_at=1))
    yield store.begin(two, now=now(), max_attempts=3)
    yield store.ask_to_stop(key)
    yield store.finish(two, 1, state="cancelled", now=now(), messages=[said("y" * 5000)])
    yield store.new_epoch(key, now=now())
    yield store.ingest(incoming(four, f"{key}-gone", at=now()))
    yield store.forget(f"{key}-gone")


def damage(path):
    """Overwrite a page of a store so that the file still opens."""
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'inbox'"
        page = connection.execute(query).fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes(64))


def dump(path):
    """Return all that a store holds, from a connection of its own."""
    with closing(sqlite3.connect(path)) as connection:
        return dump_of(connection)


def dump_of(connection):
    found = {}
    for table in TABLES:
        try:
            found[table] = list(map(tuple, connection.execute(f"SELECT * FROM {table}")))
        except Exception as error:  # not made yet
            if "no such table" not in str(error):
                raise
    return found
