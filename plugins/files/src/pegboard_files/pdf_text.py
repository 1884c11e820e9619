"""The text of a PDF, page by page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Final

import anyio

from pegboard import Sandbox, ToolFailure
from pegboard_files.lines import MAX_CHARS
from pegboard_files.names import plural, shown, size_text

PAGES: Final = 20
"""Pages that are read unless told."""
MAX_BYTES: Final = 64 << 20
_SECONDS: Final = 60.0
_RANGE: Final = re.compile(r"\s*(\d{1,6})\s*(?:(-|\.\.|:)\s*(\d{0,6})\s*)?")


@dataclass(frozen=True, slots=True)
class PdfPages:
    """Pages of a document.

    Args:
        first: Number of the first one, from 1.
        texts: Their texts.
        total: How many the document has.
        wanted: Number of the last one that was asked for.
    """

    first: int
    texts: tuple[str, ...]
    total: int
    wanted: int

    @property
    def following(self) -> int | None:
        """Number of the next page, or None at the end of the document."""
        after = self.first + len(self.texts)
        return after if after <= self.total else None

    def text(self) -> str:
        """Return the pages as a model reads them."""
        parts = [
            f"=== page {number} of {self.total} ===\n{text.strip() or '[no text on this page]'}"
            for number, text in enumerate(self.texts, self.first)
        ]
        if not any(text.strip() for text in self.texts):
            parts.append("[these pages hold no text: they may be scanned]")
        if self.following is not None:
            until = min(self.total, self.following + PAGES - 1)
            parts.append(f"[go on with pages={self.following}-{until}]")
        return "\n".join(parts)


def page_range(text: str | None) -> tuple[int, int]:
    """Return the first and the last page that `3`, `2-5` or `7-` means; None = the first ones.

    Raises:
        ToolFailure: When it is none of these.
    """
    if text is None:
        return 1, PAGES
    found = _RANGE.fullmatch(text)
    first = int(found[1]) if found else 0
    last = first if found is None or found[2] is None else int(found[3] or first + PAGES - 1)
    if not 1 <= first <= last:
        raise ToolFailure(
            f"{text[:40]!r} is no range of pages.",
            fix='Write it like "3", "2-5" or "7-".',
            code="invalid_arguments",
        )
    return first, last


async def read_pages(sandbox: Sandbox, path: str, pages: str | None) -> PdfPages:
    """Return pages of a PDF; as many as fit into one result.

    Args:
        sandbox: Where the file is.
        path: Its path.
        pages: A range of pages, or None.

    Raises:
        ToolFailure: When the document is too large, broken or locked, or has no such page.
    """
    first, last = page_range(pages)
    data = await sandbox.read(path, limit=MAX_BYTES)
    if len(data) >= MAX_BYTES:
        raise ToolFailure(
            f"{shown(path)} is larger than {size_text(MAX_BYTES)}.",
            fix="Split it into smaller documents.",
            code="too_large",
        )
    answer = await _asked(path, data, first, last)
    if "texts" not in answer:
        raise _unreadable(path, answer)
    if not answer["texts"]:
        raise ToolFailure(
            f"{shown(path)} has {plural(answer['total'], 'page')}, so none from {first} on.",
            fix="Choose an earlier page.",
            code="past_the_end",
        )
    return PdfPages(first, tuple(answer["texts"]), answer["total"], last)


async def _asked(path: str, data: bytes, first: int, last: int) -> dict[str, Any]:
    """Let a process of its own read the document; it is ended with this call."""
    numbers = [str(number) for number in (first, last, MAX_CHARS)]
    argv = [sys.executable, "-I", "-X", "utf8", "-m", "pegboard_files.pdf_program", *numbers]
    try:
        with anyio.fail_after(_SECONDS):
            done = await anyio.run_process(
                argv,
                input=data,
                stderr=subprocess.DEVNULL,
                check=False,
                env={"PATH": os.defpath},
            )
    except TimeoutError as error:
        raise ToolFailure(
            f"{shown(path)} could not be read within {_SECONDS:g} s.",
            fix="Ask for fewer pages.",
            code="timeout",
        ) from error
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {"error": f"its reader ended with status {done.returncode}"}
    return answer


def _unreadable(path: str, answer: dict[str, Any]) -> ToolFailure:
    if answer.get("encrypted"):
        return ToolFailure(
            f"{shown(path)} is locked with a password.",
            fix="Ask the person for a copy without one.",
            code="locked",
        )
    return ToolFailure(
        f"{shown(path)} is no PDF that can be read ({answer.get('error', 'unknown')}).",
        fix="Ask the person for another copy, or for its text.",
        code="broken",
    )
