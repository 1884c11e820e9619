"""What the `pegboard` command hands to the commands of plugins, as far as they are used here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from pegboard import CommandHost

T = TypeVar("T")


class CommandOutput(Protocol):
    """How the person wants to see things."""

    color: bool | None


class CommandSession(Protocol):
    """One invocation of the command (`ctx.obj`)."""

    output: CommandOutput
    overrides: dict[str, Any]

    def connect(self, workspace: Path | None = None) -> AbstractAsyncContextManager[CommandHost]:
        """Reach the running host, or open one for this invocation."""
        ...

    def run(self, function: Callable[[], Awaitable[T]]) -> T:
        """Run an async function to its end."""
        ...


def choose_model(
    session: CommandSession, provider: str | None, model: str | None, effort: str | None
) -> None:
    """Let the options of this run win over every configuration file."""
    for key, value in (
        ("agent.provider", provider),
        ("agent.model", model),
        ("agent.effort", effort),
    ):
        if value:
            session.overrides[key] = value
