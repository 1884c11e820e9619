"""The tables of conversations and turns: what came in, what was called, replied, said and spent.

JSON is kept as ASCII (`encoding.py`). Times are seconds since the epoch.
"""

from __future__ import annotations

from typing import Final

from pegboard.store.migration import Migration

OPEN: Final = "state IN ('queued', 'running', 'waiting')"
"""What a turn that has not ended meets. Every query writes it like this: SQLite uses the index of
the open turns only where it finds the very condition of that index."""

_CONVERSATION: Final = (
    """
    CREATE TABLE conversation(
        key TEXT PRIMARY KEY,
        channel TEXT NOT NULL,
        chat TEXT NOT NULL,
        thread TEXT NOT NULL,
        agent TEXT NOT NULL,
        title TEXT NOT NULL,
        next_seq INTEGER NOT NULL,
        epoch INTEGER NOT NULL DEFAULT 0,
        -- the transcript begins after this turn
        begins_after INTEGER NOT NULL DEFAULT 0,
        tokens INTEGER,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL
    ) STRICT
    """,
    "CREATE INDEX conversation_updated ON conversation(updated_at)",
    "CREATE INDEX conversation_channel ON conversation(channel, updated_at)",
)

_TURN: Final = (
    """
    CREATE TABLE turn(
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        key TEXT NOT NULL REFERENCES conversation(key) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        channel TEXT NOT NULL,
        agent TEXT NOT NULL,
        source TEXT NOT NULL,
        background INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        state TEXT NOT NULL DEFAULT 'queued' CHECK(state IN (
            'queued', 'running', 'waiting', 'done', 'failed', 'cancelled', 'dead')),
        fence INTEGER NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0,
        worker TEXT NOT NULL DEFAULT '',
        not_before REAL,
        -- somebody woke it while it was still running: it shall not begin to wait
        woken INTEGER NOT NULL DEFAULT 0,
        cancel_asked INTEGER NOT NULL DEFAULT 0,
        ended_at REAL,
        error TEXT CHECK(error IS NULL OR json_valid(error)),
        UNIQUE(key, seq)
    ) STRICT
    """,
    f"CREATE INDEX turn_open ON turn(key, seq) WHERE {OPEN}",
    """
    CREATE TABLE inbox(
        -- written before the turn, to find out in one step whether it is new
        turn TEXT PRIMARY KEY REFERENCES turn(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
        channel TEXT NOT NULL,
        chat TEXT NOT NULL,
        external_id TEXT NOT NULL,
        message TEXT NOT NULL CHECK(json_valid(message)),
        caller TEXT NOT NULL CHECK(json_valid(caller)),
        received_at REAL NOT NULL
    ) STRICT
    """,
    # the chat is part of it: many channels number the messages of each chat from 1
    """
    CREATE UNIQUE INDEX inbox_external ON inbox(channel, chat, external_id)
    WHERE external_id <> ''
    """,
    # whose they are: for what a person may search, export and have erased
    "CREATE INDEX inbox_sender ON inbox(json_extract(caller, '$.sender'))",
)

_CALL: Final = (
    """
    CREATE TABLE call(
        number INTEGER PRIMARY KEY,
        turn TEXT NOT NULL REFERENCES turn(id) ON DELETE CASCADE,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        digest TEXT NOT NULL,
        effects TEXT CHECK(effects IS NULL OR json_valid(effects)),
        on_interrupt TEXT,
        idempotency_key TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        result TEXT CHECK(result IS NULL OR json_valid(result)),
        UNIQUE(turn, id)
    ) STRICT
    """,
    """
    CREATE TABLE approval(
        number INTEGER PRIMARY KEY,
        turn TEXT NOT NULL REFERENCES turn(id) ON DELETE CASCADE,
        call TEXT NOT NULL,
        key TEXT NOT NULL,
        tool TEXT NOT NULL,
        subject TEXT NOT NULL,
        question TEXT NOT NULL,
        rule TEXT NOT NULL,
        token TEXT NOT NULL,
        asked_at REAL NOT NULL,
        expires_at REAL NOT NULL,
        state TEXT NOT NULL CHECK(state IN ('pending', 'agreed', 'refused', 'expired')),
        grain TEXT NOT NULL,
        by TEXT NOT NULL,
        UNIQUE(turn, call)
    ) STRICT
    """,
    "CREATE INDEX approval_pending ON approval(key) WHERE state = 'pending'",
)

_OUTBOX: Final = (
    """
    CREATE TABLE outbox(
        number INTEGER PRIMARY KEY,
        turn TEXT NOT NULL REFERENCES turn(id) ON DELETE CASCADE,
        part INTEGER NOT NULL,
        key TEXT NOT NULL,
        message TEXT NOT NULL CHECK(json_valid(message)),
        state TEXT NOT NULL DEFAULT 'pending' CHECK(state IN (
            'pending', 'sending', 'sent', 'stale', 'failed', 'in_doubt')),
        external_ids TEXT NOT NULL DEFAULT '[]' CHECK(json_valid(external_ids)),
        -- the person was told that it is in doubt
        settled INTEGER NOT NULL DEFAULT 0,
        at REAL NOT NULL,
        UNIQUE(turn, part)
    ) STRICT
    """,
    "CREATE INDEX outbox_doubt ON outbox(key) WHERE state = 'in_doubt' AND settled = 0",
)

_MESSAGE: Final = (
    """
    CREATE TABLE message(
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL REFERENCES conversation(key) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        summary INTEGER NOT NULL,
        turn TEXT NOT NULL,
        messages TEXT NOT NULL CHECK(json_valid(messages)),
        -- what people and the model said in them, for the search
        text TEXT NOT NULL,
        at REAL NOT NULL,
        UNIQUE(key, summary, seq)
    ) STRICT
    """,
)

_MESSAGE_SEARCH: Final = (
    """
    CREATE VIRTUAL TABLE message_fts USING fts5(
        text, content=message, content_rowid=id, tokenize='unicode61 remove_diacritics 2')
    """,
    """
    CREATE TRIGGER message_fts_insert AFTER INSERT ON message WHEN NEW.text <> ''
    BEGIN INSERT INTO message_fts(rowid, text) VALUES (NEW.id, NEW.text); END
    """,
    """
    CREATE TRIGGER message_fts_delete AFTER DELETE ON message WHEN OLD.text <> ''
    BEGIN
        INSERT INTO message_fts(message_fts, rowid, text) VALUES ('delete', OLD.id, OLD.text);
    END
    """,
)

_SPENDING: Final = (
    """
    CREATE TABLE spending(
        id INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        turn TEXT NOT NULL,
        key TEXT NOT NULL,
        channel TEXT NOT NULL,
        sender TEXT NOT NULL,
        agent TEXT NOT NULL,
        plugin TEXT NOT NULL,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        input INTEGER NOT NULL,
        output INTEGER NOT NULL,
        cached INTEGER NOT NULL,
        cost REAL
    ) STRICT
    """,
    "CREATE INDEX spending_at ON spending(at)",
    "CREATE INDEX spending_sender ON spending(sender, at)",
    "CREATE INDEX spending_turn ON spending(turn, at)",
    "CREATE INDEX spending_key ON spending(key, at)",
)

TURNS: Final = Migration(
    2,
    "conversations and turns",
    (*_CONVERSATION, *_TURN, *_CALL, *_OUTBOX, *_MESSAGE, *_SPENDING),
    with_fts5=_MESSAGE_SEARCH,
)
