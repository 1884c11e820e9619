"""What was said long ago, erased."""

from __future__ import annotations

import sqlite3

from pegboard.store.schema_turns import OPEN


def expire(connection: sqlite3.Connection, before: float, limit: int) -> int:
    """Erase turns that ended before a time, at most `limit` of them, the oldest first.

    Returns:
        How many went; fewer than `limit` when none is left, and then the conversations of which
        nothing is left have gone as well.
    """
    turns = connection.execute(
        f"""
        SELECT id, key, seq FROM turn WHERE ended_at < ? AND NOT ({OPEN}) ORDER BY number LIMIT ?
        """,
        (before, limit),
    ).fetchall()
    for id, *place in turns:
        connection.execute("DELETE FROM message WHERE key = ? AND seq = ? AND summary = 0", place)
        connection.execute("DELETE FROM turn WHERE id = ?", (id,))
    if len(turns) < limit:
        # summaries, and what was copied from other conversations, belong to no turn that is left
        connection.execute("DELETE FROM message WHERE at < ?", (before,))
        connection.execute(
            """
            DELETE FROM conversation WHERE updated_at < ?
                AND NOT EXISTS (SELECT 1 FROM message WHERE message.key = conversation.key)
                AND NOT EXISTS (SELECT 1 FROM turn WHERE turn.key = conversation.key)
            """,
            (before,),
        )
    return len(turns)
