"""What stays closed inside a grant: secrets, Pegboard's own files, files that make programs run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from pegboard.sandboxes.paths import Parts, canon, canon_parts, is_below, split

Closed = Literal["own", "secret", "key", "control"]
"""Why a place is closed: Pegboard's own, a well-known secret, a private key, or a file that decides
what programs run."""

SECRETS: Final = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".netrc"),
    *(".npmrc", ".pypirc", ".git-credentials", ".config/gh", ".password-store", ".codex"),
    *(".anthropic", ".claude/.credentials.json", ".config/op", ".config/rclone", ".vault-token"),
    *(".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    *(".config/microsoft-edge", ".local/share/keyrings", ".local/share/kwalletd"),
    *("Library/Keychains", "Library/Cookies", "Library/Application Support/Google/Chrome"),
    *("Library/Application Support/Firefox", ".bash_history", ".zsh_history", ".sh_history"),
    *(".python_history", ".psql_history", ".mysql_history", ".sqlite_history"),
    *(".node_repl_history", ".local/share/fish/fish_history"),
)
"""Below the home folder: never read, never written, unless a grant names them."""

CONTROL: Final = frozenset(
    {
        *(".git", ".gitconfig", ".gitmodules", ".mcp.json", ".vscode", ".idea", ".envrc"),
        *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc"),
        *(".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login"),
        *(".inputrc", ".ripgreprc", ".pegboard"),
    }
)
"""Names that are never written, anywhere in a grant, unless a grant names them."""

KEY_START: Final = 4096
_KEY: Final = re.compile(r"id_(rsa|dsa|ecdsa|ed25519)(_sk)?|.*\.(pem|key|ppk)")


@dataclass(frozen=True, slots=True)
class Protection:
    """The closed places of one sandbox.

    Args:
        own: Places of the host, as absolute canonical components. No grant opens them.
        secrets: Well-known secrets, likewise; a grant that names one opens it.
        objects: By device and inode, every closed place that exists, for spellings that only the
            file system knows.
        places: Every one of `own` and `secrets` as a path.
    """

    own: frozenset[Parts]
    secrets: frozenset[Parts]
    objects: dict[tuple[int, int], tuple[Closed, Path]] = field(default_factory=dict)
    places: tuple[tuple[Closed, Path], ...] = ()

    @classmethod
    def of(cls, protected: Iterable[Path], home: Path) -> Protection:
        """Collect the closed places of a sandbox, as they are spelled and with links resolved."""
        own = _spellings(protected)
        secrets = _spellings(home / name for name in SECRETS)
        objects: dict[tuple[int, int], tuple[Closed, Path]] = {}
        for place in secrets:
            _add_object(objects, "secret", place)
        for place in own:
            _add_object(objects, "own", place)
        return cls(
            frozenset(canon_parts(split(str(place))) for place in own),
            frozenset(canon_parts(split(str(place))) for place in secrets),
            objects,
            (*(("own", place) for place in own), *(("secret", place) for place in secrets)),
        )

    @classmethod
    def by_name(cls, protected: Iterable[Parts], home: Parts) -> Protection:
        """Return the closed places of another machine, whose disk can't be looked at."""
        own = frozenset(canon_parts(parts) for parts in protected)
        return cls(own, frozenset(canon_parts((*home, *name.split("/"))) for name in SECRETS))

    def closed(self, parts: Parts, root: Parts, *, write: bool) -> tuple[Closed, Parts] | None:
        """Return why `parts` can't be used through a grant, and the closed place itself.

        Args:
            parts: What is to be used, with links resolved.
            root: The grant that it was reached by.
            write: Whether it is to be changed.
        """
        folded = canon_parts(parts)
        secret: tuple[Closed, Parts] | None = None
        # the folders above are few, the closed places many
        for depth in range(len(folded) + 1):
            place = folded[:depth]
            if place in self.own:
                return "own", parts[:depth]
            if secret is None and place in self.secrets and not is_below(canon_parts(root), place):
                secret = "secret", parts[:depth]
        if secret is not None:
            return secret
        if write:
            for depth in range(len(root), len(folded)):
                if folded[depth] in CONTROL:
                    return "control", parts[: depth + 1]
        return None

    def closed_object(self, found: os.stat_result) -> tuple[Closed, Path] | None:
        """Return which closed place an open file or folder is, however it was reached, or None."""
        known = self.objects.get((found.st_dev, found.st_ino))
        # looked at again: an inode number is used anew when the place has been removed
        if known is None or identity(known[1]) != (found.st_dev, found.st_ino):
            return None
        return known

    def holds(self, parts: Parts) -> bool:
        """Return whether a closed place lies below `parts`, so that moving it would open it."""
        folded = canon_parts(parts)
        return any(is_below(place, folded) for place in (*self.own, *self.secrets))


def is_private_key(name: str, start: bytes) -> bool:
    """Return whether a file is a private key, by its name and its first bytes.

    Args:
        name: Its name, without folders.
        start: Its first bytes, `KEY_START` at most.
    """
    return _KEY.fullmatch(canon(name)) is not None and (
        b"PRIVATE KEY-----" in start or start.startswith(b"PuTTY-User-Key-File")
    )


def may_be_key(name: str) -> bool:
    """Return whether the first bytes of a file of this name must be looked at."""
    return _KEY.fullmatch(canon(name)) is not None


def _spellings(places: Iterable[Path]) -> list[Path]:
    found: dict[Path, None] = {}
    for place in places:
        found[place.absolute()] = None
        found[_resolved(place)] = None
    return list(found)


def _resolved(place: Path) -> Path:
    try:
        return place.resolve()
    except (OSError, RuntimeError):
        return place.absolute()


def _add_object(
    objects: dict[tuple[int, int], tuple[Closed, Path]], why: Closed, place: Path
) -> None:
    found = identity(place)
    if found is not None:
        objects[found] = (why, place)


def identity(place: Path) -> tuple[int, int] | None:
    """Return device and inode of what a path leads to, or None when there is nothing."""
    try:
        found = place.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
