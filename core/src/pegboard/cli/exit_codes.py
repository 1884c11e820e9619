"""Exit codes of the `pegboard` command, all in one place.

An error carries its own code (`PegboardError.exit_code`); a test holds the two together.
"""

from __future__ import annotations

from typing import Final

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
CONFIG: Final = 3
PLUGIN: Final = 4
NO_PROVIDER: Final = 5
SANDBOX: Final = 6
RUN: Final = 7
TOOL: Final = 8
INTERRUPTED: Final = 130
READER_GONE: Final = 141
TERMINATED: Final = 143

NAMES: Final[dict[int, str]] = {
    DONE: "done",
    FAILED: "failed",
    USAGE: "wrong usage",
    CONFIG: "wrong settings",
    PLUGIN: "plugin missing or broken",
    NO_PROVIDER: "no provider",
    SANDBOX: "refused by the sandbox",
    RUN: "run without an answer",
    TOOL: "tool failed",
    INTERRUPTED: "interrupted",
    READER_GONE: "reader went away",
    TERMINATED: "terminated",
}
"""What each means, for the end of `pegboard --help`.

`failed` covers a check that found something broken, a question answered with no, a setting that is
known but not set, and every error that has no code of its own.
"""
