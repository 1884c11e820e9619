"""The call that is being answered, for services of the host that must know who asks."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pegboard.tools.run_scope import CallRequest

current_call: Final[ContextVar[CallRequest | None]] = ContextVar(
    "pegboard_current_call", default=None
)
"""Set by dispatch around the code of a tool, and inherited by the tasks and threads it starts. A
tool can't hand in another one, so a service that reads it can't be talked into another caller."""
