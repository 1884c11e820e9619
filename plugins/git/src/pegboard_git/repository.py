"""One repository: found, judged by the grants, and every call of git in it."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pegboard import Command, Sandbox, SandboxError, ToolContext, ToolFailure
from pegboard_git.failing import failure
from pegboard_git.hardening import (
    FIXED,
    REMOVED,
    Pairs,
    answers,
    environment,
    filters,
    submodule_answers,
)
from pegboard_git.names import plain, shown

if TYPE_CHECKING:
    from pegboard_git.config import GitSettings

KEPT: Final = 1_048_576
"""Bytes of an output that are kept, unless an action needs fewer."""
_RUN_S: Final = 100.0
_MOST: Final = 67_108_864
_PROOF: Final = "core.hookspath"
_ALTERNATES: Final = "objects/info/alternates"
_SUBMODULE: Final = re.compile(r"submodule\.(.*)\.[^.]+", re.S)
_IN_PROGRESS: Final = (
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)


@dataclass(frozen=True, slots=True)
class Output:
    """What one call of git came to.

    Args:
        code: Exit status.
        data: What it wrote, from the start.
        errors: What it wrote on its error stream.
        cut: True when there was more than is kept.
        notes: What the sandbox has to say of it.
    """

    code: int
    data: bytes
    errors: str
    cut: bool
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What it wrote, as text."""
        return plain(self.data)

    @property
    def said(self) -> str:
        """Both streams, to be understood."""
        return f"{self.errors}\n{self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository that may be used.

    Args:
        sandbox: Where git runs.
        settings: What the operator decides.
        root: Top folder of the working tree.
        git_dir: Its `.git`, or that of this working tree.
        common_dir: Where its branches and objects are.
        config: The repository's own configuration, the last value of each key.
        pairs: The answers that every call gives to git.
    """

    sandbox: Sandbox
    settings: GitSettings
    root: str
    git_dir: str
    common_dir: str
    config: Mapping[str, str] = field(default_factory=dict)
    pairs: Pairs = FIXED

    @property
    def filters(self) -> tuple[str, ...]:
        """Names of the filters that its configuration sets, all of them left out."""
        return filters(self.config)

    async def git(
        self,
        *arguments: str,
        action: str = "",
        stdin: bytes = b"",
        keep: int = KEPT,
        accept: Sequence[int] = (0,),
        env: Mapping[str, str] | None = None,
        more: Pairs = (),
    ) -> Output:
        """Run git in the top folder.

        Args:
            arguments: Its arguments.
            action: What this is for, in an error; "" = the command.
            stdin: What it reads.
            keep: Bytes of its output that are kept.
            accept: Exit codes that are no failure.
            env: Further variables.
            more: Further answers to configuration.

        Raises:
            ToolFailure: When it ends otherwise.
        """
        done = await _run(
            self.sandbox,
            self.root,
            arguments,
            stdin=stdin,
            keep=keep,
            env=environment((*self.pairs, *more), {**_ceiling(self.root), **(env or {})}),
        )
        if done.code not in accept and not done.cut:
            raise failure(done.said, self.root, action or arguments[0])
        return done

    async def in_progress(self) -> str:
        """Return which larger operation has begun and not ended, or ""."""
        for name, operation in _IN_PROGRESS:
            if await self.sandbox.stat(f"{self.git_dir}/{name}") is not None:
                return operation
        return ""

    async def conflicts(self) -> list[bytes]:
        """Return the paths that are in conflict."""
        found = await self.git(
            "diff", "--name-only", "--diff-filter=U", "-z", "--ignore-submodules=all", "--"
        )
        return list(dict.fromkeys(path for path in found.data.split(b"\0") if path))


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
    root, git_dir, common_dir = await _located(sandbox, settings, folder, action)
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


async def run_outside(ctx: ToolContext, folder: str, *arguments: str) -> Output:
    """Run git in a folder that is no repository yet.

    Args:
        ctx: The call.
        folder: The folder, with links resolved.
        arguments: Arguments of git.
    """
    env = environment(FIXED, _ceiling(folder))
    return await _run(ctx.sandbox, folder, arguments, env=env)


async def _located(
    sandbox: Sandbox, settings: GitSettings, folder: str, action: str
) -> tuple[str, str, str]:
    """Return the top folder, the folder of git and the one that working trees share."""
    grants = [str(grant.path) for grant in sandbox.explain().grants]
    holding = [grant for grant in grants if _is_below(folder, grant)]
    top = max(holding, key=len, default=folder)
    asked = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    done = await _run(
        sandbox,
        folder,
        ("rev-parse", "--path-format=absolute", *asked),
        env=environment((*FIXED, *_trusted_above(settings, folder)), _ceiling(top)),
    )
    lines = plain(done.data).splitlines()
    if done.code or len(lines) != len(asked):
        raise failure(done.said, _dubious(done.errors) or folder, action or "this")
    return lines[0], lines[1], lines[2]


async def _configuration(sandbox: Sandbox, root: str, trusted: Pairs) -> dict[str, str]:
    """Return what the repository's own configuration sets.

    Raises:
        ToolFailure: When this git does not take our answers, or obeys other files.
    """
    done = await _run(
        sandbox,
        root,
        ("config", "--list", "--show-scope", "-z"),
        env=environment((*FIXED, *trusted), _ceiling(root)),
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
    done = await _run(
        sandbox,
        root,
        ("config", "--file", ".gitmodules", "--no-includes", "--list", "--name-only", "-z"),
        env=environment((*FIXED, *trusted), _ceiling(root)),
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


def _require_granted(sandbox: Sandbox, place: str) -> None:
    try:
        sandbox.resolve(place)
    except SandboxError as error:
        raise ToolFailure(
            f"The repository uses a folder outside the grants: {error.message}",
            fix=error.fix,
            code="outside_the_grants",
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


async def _run(
    sandbox: Sandbox,
    folder: str,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    stdin: bytes = b"",
    keep: int = KEPT,
) -> Output:
    unset = [part for name in REMOVED for part in ("-u", name)]
    done = await sandbox.run(
        Command(
            argv=("env", *unset, "git", "--no-pager", *arguments),
            cwd=folder,
            env=env,
            stdin=stdin,
            timeout_s=_RUN_S,
            keep_head=keep,
            keep_tail=0,
            max_output=_MOST,
            vetted=True,
        )
    )
    if done.timed_out == "wall":
        raise ToolFailure(
            f"git {arguments[0]} was still running after {_RUN_S:g} s and was ended.",
            fix="Ask for less: fewer paths, a smaller limit.",
            code="timeout",
        )
    return Output(
        code=done.exit_code if done.exit_code is not None else -1,
        data=done.stdout.head,
        errors=done.stderr.text(),
        cut=done.stdout.omitted > 0 or done.timed_out == "output",
        notes=done.notes,
    )


def _ceiling(folder: str) -> dict[str, str]:
    """Return what keeps git from looking for a repository above a folder."""
    return {"GIT_CEILING_DIRECTORIES": posixpath.dirname(folder)}


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
