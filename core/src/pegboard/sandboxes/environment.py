"""Which environment variables a command may see: a short list, never all but some."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Final

ALLOWED: Final = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
    *("XDG_RUNTIME_DIR", "COLUMNS", "LINES"),
)
FIXED: Final = {"TERM": "dumb", "NO_COLOR": "1"}
"""Said to every command: there is no terminal to draw on."""

_ALLOWED_PREFIX: Final = "LC_"
_RUNS_CODE: Final = re.compile(
    r"LD_.*|DYLD_.*|BASH_ENV|ENV|BASH_FUNC_.*|PROMPT_COMMAND|PS4|SHELLOPTS|BASHOPTS|IFS|CDPATH"
    r"|PYTHON.*|NODE_OPTIONS|PERL5.*|PERLLIB|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS"
    r"|GIT_.*|.*PAGER|EDITOR|VISUAL|LESSOPEN|LESSCLOSE|RIPGREP_CONFIG_PATH|GCONV_PATH"
)
_DEFAULT_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


def command_environment(
    names: Iterable[str] = (),
    *,
    source: Mapping[str, str] | None = None,
    extra: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the environment of a command.

    Args:
        names: Further variables that the operator lets through. Those that make programs run code
            of their own (`LD_PRELOAD`, `BASH_ENV` and the like) never pass.
        source: Where values come from; None = this process.
        extra: Variables set by the caller of the command, as they are.
    """
    values = os.environ if source is None else source
    wanted = {*ALLOWED, *(name for name in names if not runs_code(name))}
    found = {
        name: value
        for name, value in values.items()
        if name in wanted or name.startswith(_ALLOWED_PREFIX)
    }
    found.setdefault("PATH", _DEFAULT_PATH)
    return {**found, **FIXED, **(extra or {})}


def runs_code(name: str) -> bool:
    """Return whether a variable of this name makes programs run what its value says."""
    return _RUNS_CODE.fullmatch(name) is not None
