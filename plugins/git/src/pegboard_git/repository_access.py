"""A repository is found from a folder in it, and judged by the grants, before it is used."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from pegboard import Sandbox, SandboxError, ToolContext, ToolFailure
from pegboard_git.failures import failure
from pegboard_git.git_call import ceiling, run
from pegboard_git.hardening import FIXED, Pairs, answers, environment, submodule_answers
from pegboard_git.names import plain, shown
from pegboard_git.repository import Repository

if TYPE_CHECKING:
    from pegboard_git.config import GitSettings

_PROOF: Final = "core.hookspath"
_ALTERNATES: Final = "objects/info/alternates"
_SUBMODULE: Final = re.compile(r"submodule\.(.*)\.[^.]+", re.S)
_UNREACHED: Final = ("not_a_repository", "outside_the_grants", "git_failed")
_GITFILE: Final = re.compile(r"gitdir: (.+?)\r?\n?")


async def open_repository(
    ctx: ToolContext, path: str, *, write: bool = False, action: str = ""
) -> Repository:
    """Find the repository that a folder is in, and judge it.

    Args:
        ctx: The call.
        path: The folder, as it was written.
        write: Whether it is to be changed.
        action: What it is wanted for.

    Raises:
        ToolFailure: When there is none, or it may not be used.
        SandboxError: When it is outside the grants.
    """
    sandbox, settings = ctx.sandbox, ctx.plugin.config
    folder = sandbox.resolve(path)
    found = await sandbox.stat(path)
    if found is None or found.kind != "dir":
        raise ToolFailure(
            f"{shown(path)} is no folder.",
            fix="Name the folder of a repository; list_dir shows what there is.",
            code="not_found",
        )
    root, git_dir, common_dir = await _located(ctx, folder, action, write=write)
    for place in (root, git_dir, common_dir):
        _require_granted(sandbox, place)
    if write:
        _require_top(sandbox, root, folder)
        for place in (root, git_dir, common_dir):  # `.git` itself is never written by a file tool
            sandbox.resolve(f"{place}/".partition("/.git/")[0], write=True)
    await _require_own_objects(sandbox, common_dir)
    trusted = _trusted(settings, root)
    listed = await _configuration(sandbox, root, trusted)
    if write:
        _require_settled(listed)
    names = [*listed, *await _submodule_keys(sandbox, root, trusted)]
    submodules = {match[1] for name in names if (match := _SUBMODULE.fullmatch(name))}
    return Repository(
        sandbox=sandbox,
        settings=settings,
        root=root,
        git_dir=git_dir,
        common_dir=common_dir,
        config=listed,
        pairs=(*FIXED, *trusted, *answers(listed), *submodule_answers(sorted(submodules))),
    )


async def _located(
    ctx: ToolContext, folder: str, action: str, *, write: bool
) -> tuple[str, str, str]:
    """Return the top folder, the folder of git and the one that working trees share."""
    sandbox, settings = ctx.sandbox, ctx.plugin.config
    grants = [str(grant.path) for grant in sandbox.explain().grants]
    holding = [grant for grant in grants if _is_below(folder, grant)]
    top = min(holding, key=len, default=folder)
    asked = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    done = await run(
        sandbox,
        folder,
        ("rev-parse", "--path-format=absolute", *asked),
        env=environment((*FIXED, *_trusted_above(settings, folder)), ceiling(top)),
    )
    lines = plain(done.data).splitlines()
    if done.code or len(lines) != len(asked):
        error = failure(done.said, _dubious(done.errors) or folder, action or "this")
        if error.tool_code in _UNREACHED:
            await _require_inside(sandbox, folder, write=write)
        raise error
    return lines[0], lines[1], lines[2]


async def _configuration(sandbox: Sandbox, root: str, trusted: Pairs) -> dict[str, str]:
    """Return what the repository's own configuration sets.

    Raises:
        ToolFailure: When this git does not take our answers, or obeys other files.
    """
    done = await run(
        sandbox,
        root,
        ("config", "--list", "--show-scope", "-z"),
        env=environment((*FIXED, *trusted), ceiling(root)),
    )
    if done.code or done.cut:
        raise failure(done.said, root, "reading its configuration")
    fields = done.data.split(b"\0")[:-1]
    found: dict[str, str] = {}
    answered = False
    for scope, item in zip(fields[::2], fields[1::2], strict=False):
        name, _, value = item.decode("utf-8", "surrogateescape").partition("\n")
        if scope in (b"global", b"system"):
            raise _too_old()
        if scope == b"command":
            answered = answered or (name == _PROOF and value == "/dev/null")
        else:
            found[name] = value
    if not answered:
        raise _too_old()
    return found


async def _submodule_keys(sandbox: Sandbox, root: str, trusted: Pairs) -> list[str]:
    """Return the keys of `.gitmodules`; each names a submodule that is not to be entered."""
    found = await sandbox.stat(f"{root}/.gitmodules")
    if found is None or found.kind != "file":
        return []
    done = await run(
        sandbox,
        root,
        ("config", "--file", ".gitmodules", "--no-includes", "--list", "--name-only", "-z"),
        env=environment((*FIXED, *trusted), ceiling(root)),
    )
    return [name.decode("utf-8", "surrogateescape") for name in done.data.split(b"\0") if name]


def _require_settled(config: Mapping[str, str]) -> None:
    """Refuse to change a repository whose configuration could change on the way.

    A file that it includes may be one that a checkout replaces, or be included only on one branch:
    git would then obey keys that nobody has seen.
    """
    included = [name for name in config if name.startswith(("include.", "includeif."))]
    if included:
        raise ToolFailure(
            f"The repository's configuration includes other files ({shown(included[0])}), which "
            "may change while git works.",
            fix="A person can move what they set into .git/config.",
            code="unsafe_configuration",
        )


def _require_top(sandbox: Sandbox, root: str, folder: str) -> None:
    """Refuse to change a repository by the name of a folder in it: rules go by the name.

    Raises:
        ToolFailure: When the folder is not its top.
    """
    if root != folder:
        raise ToolFailure(
            f"{shown(sandbox.display(folder))} is only a part of a repository, and all of it would "
            "be changed.",
            fix=f"Name its top folder as repo: {shown(sandbox.display(root))}.",
            code="not_the_top",
        )


async def _require_inside(sandbox: Sandbox, folder: str, *, write: bool) -> None:
    """Refuse a folder whose repository is outside the grants, with the grant that it needs.

    Raises:
        SandboxError: When there is such a repository.
    """
    if not sandbox.info.files_here:
        return
    holder = await to_thread.run_sync(_holding_git, folder)
    if not holder:
        return
    place = await _linked(sandbox, holder) or holder
    try:
        sandbox.resolve(place, write=write)
    except SandboxError as error:
        raise SandboxError(
            f"The repository of {shown(sandbox.display(folder))} is in {shown(place)}, outside the "
            "grants.",
            fix=error.fix,
            path=place,
        ) from error


def _holding_git(folder: str) -> str:
    """Return the nearest folder, this one or one above, that has a `.git`, or ""."""
    place = folder
    while not os.path.lexists(posixpath.join(place, ".git")):
        above = posixpath.dirname(place)
        if above == place:
            return ""
        place = above
    return place


async def _linked(sandbox: Sandbox, holder: str) -> str:
    """Return the folder of the repository that a `.git` file leads to, or ""."""
    try:
        found = _GITFILE.fullmatch(plain(await sandbox.read(f"{holder}/.git", limit=4096)))
    except (SandboxError, OSError):
        return ""
    if found is None:
        return ""
    target = posixpath.normpath(posixpath.join(holder, found[1]))
    return _top_of(target)


def _top_of(place: str) -> str:
    """Return the folder whose `.git` a place is, or is in; else the place."""
    return f"{place}/".partition("/.git/")[0].rstrip("/")


def _wanted(sandbox: Sandbox, place: str) -> str:
    """Return what would open the repository that a place belongs to, or ""."""
    try:
        sandbox.resolve(_top_of(place))
    except SandboxError as error:
        return error.fix or ""
    return ""


def _require_granted(sandbox: Sandbox, place: str) -> None:
    try:
        sandbox.resolve(place)
    except SandboxError as error:
        raise SandboxError(
            f"The repository uses a folder outside the grants: {error.message}",
            fix=_wanted(sandbox, place) or error.fix,
            path=place,
        ) from error


async def _require_own_objects(sandbox: Sandbox, common_dir: str) -> None:
    """Refuse a repository that reads objects from a folder outside the grants."""
    try:
        data = await sandbox.read(f"{common_dir}/{_ALTERNATES}", limit=65_536)
    except FileNotFoundError:
        return
    for line in plain(data).splitlines():
        if line and not line.startswith("#"):
            _require_granted(sandbox, posixpath.join(common_dir, "objects", line.strip('"')))


def _trusted(settings: GitSettings, root: str) -> Pairs:
    named = {os.path.realpath(path) for path in settings.safe_directories}
    return (("safe.directory", root),) if root in named else ()


def _trusted_above(settings: GitSettings, folder: str) -> Pairs:
    named = (os.path.realpath(path) for path in settings.safe_directories)
    return tuple(("safe.directory", path) for path in named if _is_below(folder, path))


def _dubious(said: str) -> str:
    found = re.search(r"dubious ownership in repository at '(.*)'", said)
    return found[1] if found is not None else ""


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _too_old() -> ToolFailure:
    return ToolFailure(
        "This git does not take its configuration from the environment, so that nothing keeps it "
        "from running programs that a repository names.",
        fix="A person can install git 2.32 or later.",
        code="git_too_old",
    )
