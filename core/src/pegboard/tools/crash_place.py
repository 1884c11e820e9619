"""Where an author's own code stood when a tool broke down."""

from __future__ import annotations

import traceback
from typing import NamedTuple

from pegboard.plugins.decision.mending import author_place, is_authored
from pegboard.plugins.discovery.scan import FoundPlugin


class CrashPlace(NamedTuple):
    """A line of a plugin's own code.

    Args:
        text: `FILE:LINE`, or "" where no line of it is known.
        authored: True when the plugin is a source folder of this machine: somebody here edits it.
    """

    text: str
    authored: bool


def crash_place(found: FoundPlugin | None, error: BaseException) -> CrashPlace:
    """Return the last line of a plugin's own code that an exception came through.

    Args:
        found: The plugin; None = it is not one that is installed.
        error: What its tool raised.
    """
    if found is None:
        return CrashPlace("", authored=False)
    text = author_place(found, "".join(traceback.format_exception(error)))
    return CrashPlace(text, authored=bool(text) and is_authored(found))
