"""The conversations that commands work on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from pegboard.cli.session import Session
from pegboard.cli.stored import require_embedded
from pegboard.contracts.errors import UsageError

if TYPE_CHECKING:
    import sqlite3

    from pegboard.contracts.hook_events import ConversationsErased
    from pegboard.contracts.transcript import Conversation, TurnMessages
    from pegboard.host.erasure_backlog import ErasureBacklog
    from pegboard.host.session_admin import Manages


def known(
    connection: sqlite3.Connection | None, channel: str | None = None, limit: int | None = None
) -> list[Conversation]:
    """Return the conversations in the store, the one that last changed first."""
    from pegboard.store import conversation_rows
    from pegboard.store.migrations import version_of
    from pegboard.store.schema_turns import TURNS

    if connection is None or version_of(connection) < TURNS.version:
        return []
    return conversation_rows.listed(connection, channel, limit)


def one(connection: sqlite3.Connection | None, text: str) -> Conversation:
    """Return the conversation that a text names.

    Raises:
        UsageError: When there is none, or several; names what is near.
    """
    from pegboard.conversations.short_id import matching, unclear

    found = known(connection)
    match = matching(text, [item.key for item in found])
    if len(match.keys) != 1:
        raise UsageError(unclear(text, match), fix="pegboard sessions list")
    return next(item for item in found if item.key == match.keys[0])


def said(connection: sqlite3.Connection, key: str, limit: int | None = None) -> list[TurnMessages]:
    """Return what was said in a conversation, the oldest first."""
    from pegboard.store import search_rows

    return search_rows.said(connection, key, None, limit)


def person(text: str) -> str:
    """Return a sender as the host writes it, since nothing is kept under another spelling.

    Raises:
        UsageError: When it names no channel.
    """
    channel, colon, _ = text.partition(":")
    if channel and colon:
        return text
    raise UsageError(
        f"A person is a sender of a channel, and {text!r} names none.",
        fix=f"--sender CHANNEL:{text.lstrip(':')}",
    )


def to_json(conversation: Conversation) -> dict[str, Any]:
    """Return what `--json` says of a conversation."""
    from dataclasses import asdict

    from pegboard.conversations.short_id import short_id

    return {"id": short_id(conversation.key), **asdict(conversation)}


def when(at: float) -> str:
    """Return a time as people write it here.

    Args:
        at: Seconds since the epoch.
    """
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


@asynccontextmanager
async def managed(session: Session) -> AsyncIterator[Manages]:
    """Reach what manages conversations, for the time of the block: the running host, or the store.

    Raises:
        StoreError: When the store can't be opened.
    """
    async with session.resident() as client:
        if client is not None:
            from pegboard.host.control.remote_sessions import RemoteSessions

            yield RemoteSessions(client)
            return
    require_embedded(session)
    from pegboard.contracts.clock import SystemClock
    from pegboard.host.audit_trail import AuditTrail
    from pegboard.host.erasure_backlog import ErasureBacklog
    from pegboard.host.session_admin import SessionAdmin
    from pegboard.plugins.running.ids import IdMaker
    from pegboard.store.archive import EmbeddedArchive
    from pegboard.store.database import Database
    from pegboard.store.embedded import EmbeddedStore

    clock, paths = SystemClock(), session.paths
    database = Database(paths.state)
    archive = EmbeddedArchive(database, beside=paths.plugin_storages)
    backlog = ErasureBacklog(archive, (paths.plugin_storages, paths.state), clock, _nobody)
    audit = AuditTrail(database, clock, session.redactor)
    try:
        yield SessionAdmin(
            EmbeddedStore(database),
            archive,
            paths.state / "blobs",
            clock,
            new_id=IdMaker(clock),
            audit=audit,
            elsewhere=partial(_elsewhere, session, backlog),
        )
    finally:
        await audit.aclose()
        await database.aclose()


async def _elsewhere(session: Session, backlog: ErasureBacklog) -> None:
    """Erase what plugins keep; with a host where one of them wants to be told of it."""
    if not _wanted(session):
        return await backlog.try_to_catch_up()
    async with session.open_host() as host:
        await host.sessions.erase_elsewhere()


def _wanted(session: Session) -> bool:
    """Tell whether a plugin observes that something was erased."""
    from pegboard.contracts.hook_events import ConversationsErased

    events = [
        record.manifest.hooks["pegboard_event"]
        for record in session.boot.records
        if record.usable and record.manifest and "pegboard_event" in record.manifest.hooks
    ]
    return any(not types or ConversationsErased.type in types for types in events)


async def _nobody(event: ConversationsErased) -> None:
    """Tell nobody: nobody observes it."""
