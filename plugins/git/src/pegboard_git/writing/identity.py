"""Whose name and address commits carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pegboard_git.config import GitSettings


_UNUSABLE: Final = "<>\n\0"


def identity(settings: GitSettings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that name author and committer; what nobody set is the repository's.

    The person's own configuration of git is not looked at: it may name programs.

    Args:
        settings: What the operator decides; it comes first.
        environ: The environment of the host.
    """
    found: dict[str, str] = {}
    for what, given in (("NAME", settings.author_name), ("EMAIL", settings.author_email)):
        text = given or environ.get(f"GIT_AUTHOR_{what}", "")
        text = "".join(letter for letter in text if letter not in _UNUSABLE).strip()
        if text:
            found |= {f"GIT_AUTHOR_{what}": text, f"GIT_COMMITTER_{what}": text}
    return found
