"""Commits, out of a log whose fields end with NUL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pegboard_git.names import plain, shown

FORMAT: Final = "--format=tformat:%H%x00%P%x00%an%x00%ae%x00%aI%x00%D%x00%s%x00%b%x00"
DECORATED: Final = tuple(
    f"--decorate-refs={below}" for below in ("HEAD", "refs/heads/", "refs/tags/", "refs/remotes/")
)
"""Goes with the format: a repository's configuration may leave names out."""
_FIELDS: Final = 8
_BODY: Final = 2000
_SHORT: Final = 10


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit.

    Args:
        hash: Its hash.
        parents: Those of its parents.
        author, email: Who wrote it.
        date: When, as ISO 8601.
        refs: Branches and tags that name it.
        subject: First line of its message.
        body: The rest, as far as it is kept.
    """

    hash: str
    parents: tuple[str, ...]
    author: str
    email: str
    date: str
    refs: tuple[str, ...]
    subject: str
    body: str

    @property
    def line(self) -> str:
        """The commit on one line."""
        names = f" ({', '.join(self.refs)})" if self.refs else ""
        return f"{self.hash[:_SHORT]} {self.date[:10]} {self.author}{names}: {self.subject}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-serialisable data."""
        return {
            "hash": self.hash,
            "parents": list(self.parents),
            "author": self.author,
            "email": self.email,
            "date": self.date,
            "refs": list(self.refs),
            "subject": self.subject,
            "body": self.body,
        }


def parse_commits(data: bytes) -> list[Commit]:
    """Return the commits of an output; one that was cut is left out."""
    fields = [plain(part) for part in data.split(b"\0")]
    found = []
    for start in range(0, len(fields) - _FIELDS, _FIELDS):
        commit, parents, author, email, date, refs, subject, body = fields[start : start + _FIELDS]
        found.append(
            Commit(
                hash=commit.strip(),
                parents=tuple(parents.split()),
                author=shown(author),
                email=shown(email),
                date=date,
                refs=tuple(name for name in refs.split(", ") if name),
                subject=shown(subject),
                body=body.strip()[:_BODY],
            )
        )
    return found
