"""`fetch` and `pull`: the host asks the server, git in the sandbox takes in what it sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import anyio

from pegboard import ToolContext, ToolFailure, ToolResult
from pegboard_git.names import branch_name, plain, plural, remote_name, shown
from pegboard_git.reading.state import read_status
from pegboard_git.remote.asking import allowed_remote, asked, require_network
from pegboard_git.remote.pkt_line import ProtocolError
from pegboard_git.remote.remote_url import RemoteUrl
from pegboard_git.remote.server import Server, unreachable
from pegboard_git.remote.upload_pack import (
    Advertised,
    parse_advertised,
    parse_pack,
    request,
    sampled,
)
from pegboard_git.repository import Repository
from pegboard_git.writing.arguments import WriteArguments
from pegboard_git.writing.integration import merged, rebased

_HEADS: Final = "refs/heads/"
_TAGS: Final = "refs/tags/"
_LISTED: Final = 50
_MANY: Final = 16_777_216
_COMMITS: Final = 4096
_ONE_BRANCH: Final = re.compile(r"\+?refs/heads/([^*]+):refs/remotes/[^*]+")
_ANY: Final = tuple(range(256))


@dataclass(frozen=True, slots=True)
class Update:
    """A name that a fetch has changed.

    Args:
        ref: The whole name, here.
        new: What it stands for now.
        old: What it stood for, or "".
    """

    ref: str
    new: str
    old: str = ""

    @property
    def line(self) -> str:
        """The change on one line."""
        was = f"{self.old[:10]}..{self.new[:10]}" if self.old else f"new, {self.new[:10]}"
        return f"  {shown(self.ref.removeprefix('refs/').removeprefix('remotes/'))}: {was}"


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a fetch came to.

    Args:
        remote: Name of the remote.
        host: The server.
        heads: Every branch that was asked for, and where it is.
        updates: Names that have changed.
        received: Bytes of objects.
    """

    remote: str
    host: str
    heads: Mapping[str, str]
    updates: tuple[Update, ...]
    received: int

    @property
    def lines(self) -> list[str]:
        """What there is to say."""
        if not self.updates:
            return [f"Nothing new from {self.remote} ({self.host})."]
        count = plural(len(self.updates), "name")
        more = ["  ..."] if len(self.updates) > _LISTED else []
        return [
            f"Fetched from {self.remote} ({self.host}): {count}, {self.received} bytes.",
            *(update.line for update in self.updates[:_LISTED]),
            *more,
        ]

    def to_dict(self) -> dict[str, object]:
        """Return it as JSON-serialisable data."""
        return {
            "remote": self.remote,
            "host": self.host,
            "received_bytes": self.received,
            "updates": [
                {"ref": shown(item.ref), "new": item.new, "old": item.old or None}
                for item in self.updates
            ],
        }


async def fetch(ctx: ToolContext, repo: Repository, ask: WriteArguments) -> ToolResult:
    """Get the branches of a remote; the working tree stays as it is."""
    name = remote_name(ask.remote or "origin")
    found = await fetched(ctx, repo, name, branch_name(ask.branch) if ask.branch else "")
    return ToolResult(output="\n".join(found.lines), structured=found.to_dict(), outside=True)


async def pull(ctx: ToolContext, repo: Repository, ask: WriteArguments) -> ToolResult:
    """Get the branch that this one follows, and join it into this one."""
    status, _ = await read_status(repo, limit=1)
    if not status.branch:
        raise ToolFailure(
            "No branch is checked out, so that there is nothing to pull into.",
            fix='Check one out: git_write with action "switch".',
            code="detached",
        )
    name = remote_name(
        ask.remote or repo.config.get(f"branch.{status.branch}.remote", "") or "origin"
    )
    branch = branch_name(ask.branch) if ask.branch else _followed(repo, status.branch)
    found = await fetched(ctx, repo, name, branch)
    tip = found.heads[branch]
    if ask.strategy == "rebase" and status.commit:
        result = await rebased(repo, tip, action="pull")
    else:
        strategy = ask.strategy if ask.strategy == "merge" else "ff_only"
        message = f"Merge branch '{branch}' of {name}" if strategy == "merge" else None
        result = await merged(repo, tip, strategy=strategy, message=message, action="pull")
    facts = {**found.to_dict(), "result": result.structured}
    result.output = "\n".join([*found.lines, result.text])
    return replace(result, structured=facts, outside=True)


async def fetched(ctx: ToolContext, repo: Repository, name: str, branch: str) -> Fetched:
    """Get the branches of a remote, or one of them.

    Raises:
        ToolFailure: When the remote may not be asked, or does not do its part.
    """
    require_network(ctx)
    url = _remote(repo, name)
    only = branch or _only_branch(repo, name)
    try:
        with anyio.fail_after(repo.settings.fetch_seconds):
            async with asked(ctx, repo.settings, url) as server:
                advertised = parse_advertised(await server.advertised())
                _require_same_format(repo, advertised)
                heads = _heads(advertised, only, name)
                pack = await _objects(repo, server, advertised, heads)
    except ProtocolError as error:
        raise unreachable(url, str(error), outside=True) from error
    except TimeoutError as error:
        raise unreachable(url, f"it took longer than {repo.settings.fetch_seconds:g} s") from error
    if pack:
        limit = repo.settings.max_fetch_mb << 20
        await repo.git(
            "index-pack",
            "--stdin",
            "--fix-thin",
            f"--max-input-size={limit}",
            action="fetch",
            stdin=pack,
        )
    tips = list(dict.fromkeys(heads.values()))
    if not await _connected(repo, tips):
        raise unreachable(url, "it left out objects that its branches need")
    updates = await _updated(repo, name, advertised, heads)
    return Fetched(name, url.host, heads, updates, len(pack))


def _remote(repo: Repository, name: str) -> RemoteUrl:
    text = repo.config.get(f"remote.{name}.url", "")
    if not text:
        raise ToolFailure(
            f"There is no remote {name}.",
            fix='See them with git_read, action "remote"; a person adds one: git remote add',
            code="unknown_remote",
        )
    return allowed_remote(text, repo.settings, f"The remote {name}")


def _only_branch(repo: Repository, name: str) -> str:
    found = _ONE_BRANCH.fullmatch(repo.config.get(f"remote.{name}.fetch", ""))
    return found[1] if found is not None else ""


def _followed(repo: Repository, branch: str) -> str:
    merge = repo.config.get(f"branch.{branch}.merge", "")
    return merge.removeprefix(_HEADS) or branch


def _require_same_format(repo: Repository, advertised: Advertised) -> None:
    own = repo.config.get("extensions.objectformat", "sha1")
    if advertised.refs and advertised.object_format != own:
        raise ToolFailure(
            f"The server's objects have {advertised.object_format} hashes, these have {own}.",
            fix="Clone it anew.",
            code="remote_refused",
        )


def _heads(advertised: Advertised, only: str, remote: str) -> dict[str, str]:
    heads = {
        name.removeprefix(_HEADS): commit
        for name, commit in advertised.refs.items()
        if name.startswith(_HEADS) and name != f"{_HEADS}HEAD"
    }
    if not only:
        return heads
    if only not in heads:
        raise ToolFailure(
            f"{remote} has no branch {shown(only)}.",
            fix="Fetch without branch to see what it has.",
            code="unknown_revision",
        )
    return {only: heads[only]}


async def _objects(
    repo: Repository, server: Server, advertised: Advertised, heads: Mapping[str, str]
) -> bytes:
    """Return the objects that are missing here, as one pack; b"" = none is."""
    tips = list(dict.fromkeys(heads.values()))
    known = await _present(repo, advertised.refs.values())
    if not all(tip in known for tip in tips) or not await _connected(repo, tips):
        wants = [tip for tip in tips if tip not in known] or tips
        listed = await repo.git(
            "rev-list", f"--max-count={_COMMITS}", "--date-order", "--all", accept=(0, 128)
        )
        haves = dict.fromkeys(sampled(listed.text.split()))
        question = request(advertised, wants=wants, haves=haves, shallow=await _shallow(repo))
        return parse_pack(await server.answer(question))
    await server.answer(b"")
    return b""


async def _present(repo: Repository, commits: Iterable[str]) -> set[str]:
    names = "\n".join(dict.fromkeys(commits)).encode()
    done = await repo.git(
        "cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=names + b"\n", keep=_MANY
    )
    lines = (line.split() for line in done.text.splitlines())
    return {words[0] for words in lines if len(words) == 2 and words[1] != "missing"}


async def _connected(repo: Repository, tips: Iterable[str]) -> bool:
    """Return whether all that these commits need is here."""
    names = "".join(f"{tip}\n" for tip in tips).encode()
    if not names:
        return True
    done = await repo.git(
        *("rev-list", "--objects", "--stdin", "--not", "--all", "--quiet"), stdin=names, accept=_ANY
    )
    return done.code == 0


async def _shallow(repo: Repository) -> list[str]:
    try:
        data = await repo.sandbox.read(f"{repo.common_dir}/shallow", limit=_MANY)
    except FileNotFoundError:
        return []
    return plain(data).split()


async def _updated(
    repo: Repository, remote: str, advertised: Advertised, heads: Mapping[str, str]
) -> tuple[Update, ...]:
    """Set the names of the remote's branches, and of tags that came along; return what changed."""
    own = await _own_refs(repo)
    wanted = {f"refs/remotes/{remote}/{name}": commit for name, commit in heads.items()}
    tags = {name: commit for name, commit in advertised.refs.items() if name.startswith(_TAGS)}
    missing = {name: commit for name, commit in tags.items() if name not in own}
    here = await _present(repo, missing.values()) if missing else set()
    wanted |= {name: commit for name, commit in missing.items() if commit in here}
    updates = tuple(
        Update(name, commit, own.get(name, ""))
        for name, commit in sorted(wanted.items())
        if own.get(name) != commit
    )
    if updates:
        steps = "".join(
            f"update {item.ref}\0{item.new}\0{item.old or '0' * len(item.new)}\0"
            for item in updates
        )
        await repo.git(
            "update-ref",
            "--no-deref",  # one of these names may be a link to a branch of one's own
            "--stdin",
            "-z",
            "-m",
            "fetch",
            action="fetch",
            stdin=steps.encode("utf-8", "surrogateescape"),
        )
    return updates


async def _own_refs(repo: Repository) -> dict[str, str]:
    done = await repo.git("for-each-ref", "--format=%(objectname) %(refname)", keep=_MANY)
    lines = done.data.decode("utf-8", "surrogateescape").splitlines()
    return {name: commit for commit, _, name in (line.partition(" ") for line in lines)}
