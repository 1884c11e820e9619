"""Read the instructions that a workspace keeps for agents: AGENTS.md, from the git root downwards.

Only called for folders that the person trusts; what it finds is still read with care, because a
repository's files are other people's work.
"""

from __future__ import annotations

import codecs
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pegboard.skills.regular_file import read_regular

FILE_NAME: Final = "AGENTS.md"
BUDGET_BYTES: Final = 32 * 1024


@dataclass(frozen=True, slots=True)
class WorkspaceDocs:
    """What was found.

    Args:
        text: The block for the prompt, or "".
        files: The files it holds, the outermost first.
        notices: Sentences about files that were cut or left out.
    """

    text: str = ""
    files: tuple[Path, ...] = ()
    notices: tuple[str, ...] = ()


def read_workspace_docs(workspace: Path, *, budget: int = BUDGET_BYTES) -> WorkspaceDocs:
    """Return the AGENTS.md files between the git root and `workspace`, the nearest last.

    A file with the text of an earlier one is left out, and so is one that is no regular file or
    that a link takes out of the root. Bytes that are no UTF-8 are replaced.

    Args:
        workspace: The folder of the run.
        budget: Bytes that all files together may take; the rest is cut and the cut is marked.
    """
    folders = _folders(workspace)
    blocks: list[str] = []
    files: list[Path] = []
    notices: list[str] = []
    seen: set[str] = set()
    for folder in folders:
        file = folder / FILE_NAME
        try:
            found = _read(file, folders[0], budget)
        except _Refused as error:
            notices.append(f"{shown(file)} was not read: {error}")
            continue
        if found is None:
            continue
        if found.left:
            notices.append(f"{shown(file)} is too long: {found.left} bytes were left out.")
        if found.text in seen or not found.text.strip():
            continue
        seen.add(found.text)
        budget -= len(found.text.encode())
        cut = f"\n[{FILE_NAME} cut here: {found.left} bytes left out]" if found.left else ""
        name = shown(file).replace('"', "'")
        blocks.append(f'<instructions file="{name}">\n{found.text.strip()}{cut}\n</instructions>')
        files.append(file)
    if not blocks:
        return WorkspaceDocs(notices=tuple(notices))
    head = "What the workspace asks of agents; where two of these disagree, the later one counts."
    return WorkspaceDocs("\n\n".join([head, *blocks]), tuple(files), tuple(notices))


def shown(path: Path) -> str:
    """Return a path as one line of whole characters: a folder can have any name."""
    return "".join(char if char.isprintable() else "\ufffd" for char in str(path))


class _Refused(Exception):
    pass


@dataclass(frozen=True, slots=True)
class _Found:
    text: str
    left: int


def _folders(workspace: Path) -> list[Path]:
    """Return the git root and every folder down to the workspace; without git only the latter.

    Like git, this does not go up into another person's folder: whoever can write to `/tmp` could
    make a repository of it, and of all that is below.
    """
    start = workspace.resolve()
    chain: list[Path] = []
    with suppress(OSError):  # it is gone, or a folder above it can't be looked into
        owner = start.stat().st_uid
        for folder in (start, *start.parents):
            if folder.stat().st_uid != owner:
                break
            chain.insert(0, folder)
            if (folder / ".git").exists():
                return chain
    return [start]


def _read(file: Path, root: Path, budget: int) -> _Found | None:
    try:
        real = file.resolve(strict=True)
    except (OSError, RuntimeError):
        return None
    if not real.is_relative_to(root):
        raise _Refused(f"it is a link to {shown(real)}, outside {shown(root)}.")
    try:
        data, size = read_regular(real, budget)
    except OSError as error:
        raise _Refused(f"{error.strerror}.") from error
    return _decoded(data, size, budget)


def _decoded(data: bytes, size: int, budget: int) -> _Found:
    """Decode the beginning of a file; a character that the cut tore is left out."""
    whole = len(data) == size
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=whole)
    encoded = text.removeprefix("\ufeff").encode()
    # a byte that was replaced takes three, so what was read within the budget may exceed it
    kept = encoded[:budget].decode("utf-8", "ignore")
    whole = whole and len(encoded) <= budget
    return _Found(kept, 0 if whole else max(1, size - len(kept.encode())))
