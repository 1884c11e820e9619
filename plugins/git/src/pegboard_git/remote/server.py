"""A server that was asked for its objects, over https or ssh."""

from __future__ import annotations

from typing import Protocol

from pegboard import ToolFailure
from pegboard_git.names import shown
from pegboard_git.remote.remote_url import RemoteUrl


class Server(Protocol):
    """One talk with a server."""

    async def advertised(self) -> bytes:
        """Return what it says that it has."""
        ...

    async def answer(self, question: bytes) -> bytes:
        """Return what it sends for a question; b"" = it is told that there is none."""
        ...

    async def aclose(self) -> None:
        """End the talk."""
        ...


def unreachable(url: RemoteUrl, why: str, *, fix: str = "", outside: bool = False) -> ToolFailure:
    """Return the failure of a server that could not be asked.

    Args:
        url: The server.
        why: What happened.
        fix: What to do next.
        outside: Whether these are the words of the server.
    """
    return ToolFailure(
        f"{url.host} could not be asked: {shown(why)}",
        fix=fix or "Try again later, or look at the remote's URL with git_read, action remote.",
        code="unreachable",
        retryable=True,
        outside=outside,
    )


def too_large(megabytes: int) -> ToolFailure:
    """Return the failure of a fetch that brings more than it may."""
    return ToolFailure(
        f"The server sends more than {megabytes} MB.",
        fix="Fetch one branch, or a person raises it: pegboard config set plugins.git.max_fetch_mb",
        code="too_large",
    )
