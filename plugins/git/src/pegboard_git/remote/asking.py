"""Whether a server may be asked, and a talk with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pegboard import PluginError, ToolContext, ToolFailure
from pegboard_git.remote.https_server import SECRET, HttpsServer
from pegboard_git.remote.remote_url import RemoteUrl, parse_remote
from pegboard_git.remote.server import Server
from pegboard_git.remote.ssh_server import SshServer

if TYPE_CHECKING:
    from pegboard_git.config import GitSettings


def require_network(ctx: ToolContext) -> None:
    """Refuse a call that may not reach the network.

    Raises:
        ToolFailure: When it may not.
    """
    if "net_read" not in ctx.call.effects:
        raise ToolFailure(
            "This run may not reach the network.",
            fix="`pegboard why git_write` shows the rule that decides what a call may do.",
            code="network_refused",
        )


def allowed_remote(text: str, settings: GitSettings, what: str) -> RemoteUrl:
    """Return where a remote is, when the operator lets it be asked.

    Args:
        text: Its URL.
        settings: What the operator decides.
        what: How to name it in an error.

    Raises:
        ToolFailure: When it may not.
    """
    url = parse_remote(text)
    if url.scheme == "http" and url.target not in settings.allow_private:
        raise ToolFailure(
            f"{what} is reached over plain http, which anybody on the way can change.",
            fix="A person can set it to https: git remote set-url; or, in their own network, "
            f"pegboard config set plugins.git.allow_private '[\"{url.target}\"]'",
            code="remote_refused",
        )
    if url.scheme != "ssh" and settings.allow_hosts is not None:
        from pegboard_netguard import Rules

        if not Rules(hosts=frozenset(settings.allow_hosts)).names(url.host):
            raise ToolFailure(
                f"{url.host} is not among the hosts that may be fetched from.",
                fix="A person allows it: pegboard config set plugins.git.allow_hosts "
                f"'[\"{url.host}\"]'",
                code="remote_refused",
            )
    return url


@asynccontextmanager
async def asked(ctx: ToolContext, settings: GitSettings, url: RemoteUrl) -> AsyncIterator[Server]:
    """Open a talk with a server that may be asked.

    Args:
        ctx: The call, which has the credentials.
        settings: What the operator decides.
        url: The server.
    """
    server: Server
    if url.scheme == "ssh":
        server = SshServer(url, settings)
    else:
        server = HttpsServer(url, settings, _credentials(ctx))
    try:
        yield server
    finally:
        await server.aclose()


def _credentials(ctx: ToolContext) -> str:
    try:
        return ctx.plugin.secret(SECRET)
    except PluginError:
        return ""  # public repositories need none
