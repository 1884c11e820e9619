"""Files whose contents are not shown: what no file tool reads is not read out of history either."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from anyio import to_thread

from pegboard import SandboxError, ToolFailure
from pegboard.sandboxes import KEY_START, is_private_key, may_be_key
from pegboard_git.names import shown
from pegboard_git.repository import Repository

_LINK: Final = b"120000"
_MODULE: Final = b"160000"
_UNMERGED: Final = b"U"
_SMALL: Final = 65_536
_LARGE: Final = 16
_NAMED: Final = 20
_KEY: Final = "it is a private key"
OUTSIDE: Final = "its place is outside the grants"


@dataclass(frozen=True, slots=True)
class Version:
    """A file as it is, or was once.

    Args:
        path: Its name, relative to the top of the repository; stray bytes as surrogates.
        blob: Hash of its content; "" = the working tree's, None = more than one.
        link: Whether it is a symbolic link, of which git shows no more than where it leads.
        twin: Its other name, when a difference has it renamed.
    """

    path: str
    blob: str | None = ""
    link: bool = False
    twin: str = ""

    @property
    def may_be_key(self) -> bool:
        """Whether its name is one that private keys have, and it is no link."""
        return not self.link and may_be_key(posixpath.basename(self.path))


Withheld = Mapping[str, str]
"""Why each file is not shown, by its path."""


def parse_raw(data: bytes) -> list[Version]:
    """Return both sides of each file of `diff --raw -z --no-abbrev`; submodules are left out."""
    found: list[Version] = []
    fields = iter(data.split(b"\0"))
    for field in fields:
        if not field.startswith(b":"):
            continue
        old_mode, new_mode, old, new, status = field[1:].split(b" ")
        before = after = next(fields, b"").decode("utf-8", "surrogateescape")
        if status[:1] in b"RC":
            after = next(fields, b"").decode("utf-8", "surrogateescape")
        if status == _UNMERGED:
            found.append(Version(after, None))
            continue
        twins = ("", "") if before == after else (after, before)
        if old.strip(b"0") and old_mode != _MODULE:
            found.append(Version(before, old.decode(), old_mode == _LINK, twins[0]))
        if new_mode.strip(b"0") and new_mode != _MODULE:
            blob = new.decode() if new.strip(b"0") else ""
            found.append(Version(after, blob, new_mode == _LINK, twins[1]))
    return found


async def withheld(repo: Repository, versions: Iterable[Version]) -> dict[str, str]:
    """Return why files are not shown: by their place, or because one version is a private key.

    Args:
        repo: The repository.
        versions: The files. One of which nothing can be read is not shown when in doubt.
    """
    every = list(dict.fromkeys(versions))
    found = await closed_places(repo, every)
    keys = [item for item in every if item.may_be_key and item.path not in found]
    starts = await _starts(repo, [item.blob for item in keys if item.blob])
    for item in keys:
        if await _is_key(repo, item, starts):
            found.setdefault(item.path, _KEY)
    # without the one name git would show the whole file under the other
    return found | {
        item.twin: found[item.path] for item in every if item.twin and item.path in found
    }


async def closed_places(repo: Repository, versions: Sequence[Version]) -> dict[str, str]:
    """Return why files are not shown for where they are, whatever is in them."""
    places = dict.fromkeys(replace(item, blob="", twin="") for item in versions)

    def judged() -> dict[str, str]:
        reasons = ((item.path, _closed_place(repo, item)) for item in places)
        return {path: reason for path, reason in reasons if reason}

    return await to_thread.run_sync(judged)  # links are looked up on the disk


async def working_version(repo: Repository, path: str) -> Version:
    """Return a file of the working tree, which may be a link."""
    found = await repo.sandbox.stat(posixpath.join(repo.root, path))
    return Version(path, link=found is not None and found.kind == "symlink")


async def require_shown(repo: Repository, version: Version) -> None:
    """Refuse to show one file that no file tool would read.

    Raises:
        ToolFailure: When it is one.
    """
    found = await withheld(repo, (version,))
    if version.path in found:
        raise refused(version.path, found[version.path])


def refused(path: str, reason: str, verb: str = "read") -> ToolFailure:
    """Return the failure of a call that is about a file that is not shown."""
    return ToolFailure(
        f"{shown(path)} is protected and cannot be {verb}: {reason}",
        fix="Leave it out; a person can look at it with git itself.",
        code="protected",
    )


def withheld_note(files: Withheld) -> list[str]:
    """Return a line that names the files that are not shown, where there are any."""
    if not files:
        return []
    named = [f"{shown(path)} ({reason})" for path, reason in sorted(files.items())][:_NAMED]
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return [f"[left out, as protected: {', '.join(named)}{more}]"]


def withheld_facts(files: Withheld) -> list[dict[str, Any]]:
    """Return the files that are not shown as JSON-serialisable data."""
    return [{"path": shown(path), "reason": reason} for path, reason in sorted(files.items())]


def without(paths: Sequence[str], files: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Return paths as git takes them with some files left out, and the variables that it needs.

    Args:
        paths: Relative to the top; none = all.
        files: What to leave out.
    """
    left_out = [f":(exclude,literal,top){path}" for path in files]
    if not left_out:
        return list(paths), {}
    kept = [":(top)" if path == "." else f":(literal,top){path}" for path in paths or (".",)]
    return [*kept, *left_out], {"GIT_LITERAL_PATHSPECS": "0"}


def _closed_place(repo: Repository, item: Version) -> str:
    """Return why the place of a file is closed to be read, or ""."""
    path = posixpath.join(repo.root, item.path)
    try:
        # git shows of a link where it leads to, and nothing of what is there
        repo.sandbox.resolve(posixpath.dirname(path) if item.link else path)
    except SandboxError as error:
        return error.message.rpartition(": ")[2] if "protected" in error.message else OUTSIDE
    except OSError:
        return ""
    return ""


async def _is_key(repo: Repository, item: Version, starts: Mapping[str, bytes | None]) -> bool:
    if item.blob is None:
        return True
    if item.blob:
        start = starts.get(item.blob)
        return start is None or is_private_key(posixpath.basename(item.path), start)
    try:
        await repo.sandbox.read(posixpath.join(repo.root, item.path), limit=1)
    except SandboxError:
        return True
    except OSError:
        return False
    return False


async def _starts(repo: Repository, blobs: Iterable[str]) -> dict[str, bytes | None]:
    """Return the first bytes of each blob; None = nobody looked, there were too many large ones."""
    names = list(dict.fromkeys(blobs))
    if not names:
        return {}
    listed = "".join(f"{name}\n" for name in names).encode()
    asked = await repo.git(
        "cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=listed, keep=len(listed) * 2
    )
    sizes: dict[str, int] = {}
    found: dict[str, bytes | None] = {}
    for name, line in zip(names, asked.text.splitlines(), strict=False):
        size = line.partition(" ")[2]
        if size.isdigit():
            sizes[name] = int(size)
            found[name] = None
        else:
            found[name] = b""  # it is not here, so that git can't show it
    small = [name for name, size in sizes.items() if size <= _SMALL]
    found.update(await _small(repo, small, sum(sizes[name] + 128 for name in small)))
    for name in [name for name in sizes if name not in small][:_LARGE]:
        done = await repo.git("cat-file", "blob", name, keep=KEY_START)
        found[name] = done.data
    return found


async def _small(repo: Repository, names: Sequence[str], keep: int) -> dict[str, bytes]:
    if not names:
        return {}
    listed = "".join(f"{name}\n" for name in names).encode()
    done = await repo.git("cat-file", "--batch", stdin=listed, keep=keep)
    found: dict[str, bytes] = {}
    at = 0
    for name in names:
        end = done.data.find(b"\n", at)
        if end < 0:  # there was more than is kept
            break
        size = int(done.data[at:end].split(b" ")[2])
        found[name] = done.data[end + 1 : end + 1 + min(size, KEY_START)]
        at = end + 2 + size
    return found
