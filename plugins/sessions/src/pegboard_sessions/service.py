"""The host's service, which knows whose conversations may be seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pegboard import PegboardError, ToolFailure

if TYPE_CHECKING:
    from pegboard import Sessions, ToolContext


@contextmanager
def sessions_of(ctx: ToolContext) -> Iterator[Sessions]:
    """Give the caller's conversations for the time of the block.

    Raises:
        ToolFailure: When the block names one that is not there, or not theirs: both answer alike.
    """
    sessions: Sessions = ctx.plugin.service("sessions")
    try:
        yield sessions
    except PegboardError as error:
        if error.code != "usage":
            raise
        raise ToolFailure(error.message, fix=error.fix, code="not_found") from error
