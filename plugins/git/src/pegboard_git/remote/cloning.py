"""`clone`: a repository of others, made in a folder that may be written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio

from pegboard import ToolContext, ToolFailure, ToolResult
from pegboard_git.failures import failure
from pegboard_git.git_call import run_outside
from pegboard_git.names import branch_name, shown
from pegboard_git.reading.state import read_status
from pegboard_git.remote.asking import allowed_remote, asked, require_network
from pegboard_git.remote.fetching import fetched
from pegboard_git.remote.pkt_line import ProtocolError
from pegboard_git.remote.remote_url import RemoteUrl, without_password
from pegboard_git.remote.server import unreachable
from pegboard_git.remote.upload_pack import Advertised, parse_advertised
from pegboard_git.repository import Repository
from pegboard_git.repository_access import open_repository
from pegboard_git.writing.arguments import WriteArguments

if TYPE_CHECKING:
    from pegboard_git.config import GitSettings

_MAKE: Final = (
    'git init --quiet --template= --initial-branch="$1" --object-format="$2" && '
    'git config remote.origin.url "$3" && '
    'git config remote.origin.fetch "+refs/heads/*:refs/remotes/origin/*"'
)
"""In one command: the sandbox closes the configuration as soon as it is there."""
_FORMATS: Final = frozenset({"sha1", "sha256"})


async def clone(ctx: ToolContext, folder: str, ask: WriteArguments) -> ToolResult:
    """Make a repository of what a server has, and check out its first branch."""
    if ask.url is None or folder == ".":
        raise ToolFailure(
            "clone needs a url, and the folder to make as repo.",
            fix="Give both, such as url https://HOST/PATH and repo NAME.",
            code="invalid_arguments",
        )
    require_network(ctx)
    settings: GitSettings = ctx.plugin.config
    if without_password(ask.url) != ask.url:
        raise ToolFailure(
            "The URL holds a password, which would stay in the repository.",
            fix="Leave it out; a person keeps it: pegboard secret set git_credentials",
            code="remote_refused",
        )
    url = allowed_remote(ask.url, settings, "That server")
    offered = await _offered(ctx, settings, url)
    branch = branch_name(ask.branch or offered.default_branch or "main")
    await _made(ctx, folder, ask.url, branch, offered)
    repo = await open_repository(ctx, folder, write=True, action="clone")
    if not offered.refs:
        return _told(repo, f"Cloned {url.host}, which has no commits yet, to ")
    found = await fetched(ctx, repo, "origin", "")
    tip = found.heads.get(branch, "")
    if not tip:
        raise ToolFailure(
            f"The server has no branch {shown(branch)}.",
            fix="All of its branches are here: git_read, action branch; then switch, create true.",
            code="unknown_revision",
        )
    none = "0" * len(tip)  # a branch that is there already is not replaced
    await repo.git("update-ref", f"refs/heads/{branch}", tip, none, action="clone")
    await repo.git("symbolic-ref", "HEAD", f"refs/heads/{branch}", action="clone")
    await repo.git("reset", "--quiet", "--hard", "--no-recurse-submodules", action="clone")
    status, more = await read_status(repo)
    told = _told(repo, f"Cloned {url.host}, branch {branch} at {tip[:10]}, to ")
    lines = [told.text, *found.lines]
    if await repo.sandbox.stat(f"{repo.root}/.gitmodules") is not None:
        lines.append("[its submodules are not cloned]")
    facts = {**status.to_dict(), **found.to_dict(), "more": more, **(told.structured or {})}
    return replace(told, output="\n".join(lines), structured=facts, outside=True)


async def _offered(ctx: ToolContext, settings: GitSettings, url: RemoteUrl) -> Advertised:
    """Return what a server has, before anything is made for it."""
    try:
        with anyio.fail_after(settings.fetch_seconds):
            async with asked(ctx, settings, url) as server:
                offered = parse_advertised(await server.advertised())
    except ProtocolError as error:
        raise unreachable(url, str(error), outside=True) from error
    except TimeoutError as error:
        raise unreachable(url, f"it took longer than {settings.fetch_seconds:g} s") from error
    if offered.object_format not in _FORMATS:
        raise unreachable(url, f"its objects have {offered.object_format} hashes", outside=True)
    return offered


async def _made(ctx: ToolContext, folder: str, url: str, branch: str, offered: Advertised) -> None:
    """Make an empty repository for it; one that an earlier attempt has left is used again.

    Raises:
        ToolFailure: When something else is there.
    """
    sandbox = ctx.sandbox
    await sandbox.make_dir(folder)
    place = sandbox.resolve(folder)
    names = [item.path.rpartition("/")[2] for item in await sandbox.list_dir(place)]
    if names == [".git"]:
        repo = await open_repository(ctx, folder, write=True, action="clone")
        status, _ = await read_status(repo, limit=1)
        if repo.config.get("remote.origin.url") == url and not status.commit and status.clean:
            return
    if names:
        raise ToolFailure(
            f"{shown(folder)} is not empty.", fix="Name a folder to be made.", code="exists"
        )
    sandbox.resolve(f"{place}/new", write=True)
    done = await run_outside(
        ctx, place, "-c", _MAKE, "clone", branch, offered.object_format, url, program="sh"
    )
    if done.code:
        raise failure(done.said, place, "clone")


def _told(repo: Repository, text: str) -> ToolResult:
    place = repo.sandbox.display(repo.root)
    return ToolResult(output=f"{text}{shown(place)}.", structured={"root": place})
