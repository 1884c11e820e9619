"""Commands of source that can't be read exactly, found by what parts them; for a second line only.

Too much may be found. What is quoted counts as text, unless something in the source runs text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from pegboard.policy.inner_commands import InnerCommand
from pegboard.policy.shell_words import Word

HOME: Final = "/home/~"
"""What stands for the home folder of whoever runs the command."""
_BEFORE: Final = frozenset({"then", "do", "else", "if", "while", "until", "!"})
_CARRIERS: Final = frozenset(
    {
        *("sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "rbash"),
        *("busybox", "toybox", "sudo", "doas", "su", "runuser", "setpriv", "chroot", "nsenter"),
        *("unshare", "flock", "watch", "parallel", "script", "strace", "ltrace", "entr", "expect"),
        *("at", "batch", "systemd-run", "env", "nohup", "nice", "ionice", "timeout", "time"),
        *("stdbuf", "setsid", "command", "builtin", "exec", "eval", "xargs", "trap", "ssh"),
    }
)
"""Programs that run what stands behind them, at a place that is not known."""
_PRINTERS: Final = frozenset({"echo", "printf", "cat"})
_SHELL: Final = r"(?:[\w/.-]{0,40}/)?(?:ba|da|z|k|a|fi)?sh"
_FEEDS_SHELL: Final = re.compile(rf"\|&?\s{{0,8}}(?:sudo\s+(?:-\S+\s+){{0,4}})?{_SHELL}(?![\w.-])")
_RUNS_TEXT: Final = re.compile(rf"(?<![\w.-])(?:{_SHELL}|eval|su|trap|script|watch|ssh)(?![\w.-])")
_QUOTED: Final = re.compile(r"'[^']*(?:'|\Z)|\"(?:[^\"\\]|\\.?)*(?:\"|\Z)", re.DOTALL)
"""One that is not closed goes to the end: a try at each further quote would take the square."""
_HOME_NAME: Final = re.compile(r"\$(?:HOME\b|\{HOME(?::?[-?+=][^{}]{0,200})?\})")
_LOOKED_AT: Final = 40
"""Words of one command behind which another one may begin."""
_LONGEST: Final = 200
"""Words of a command that begins in the middle of another."""


def with_home(text: str) -> str:
    """Return source with the name of the home folder in place of the variable that holds it."""
    return _HOME_NAME.sub(HOME, text)


def unquoted(source: str) -> str:
    """Return source without what is quoted, unless something in it runs text."""
    return source if _RUNS_TEXT.search(source) else _QUOTED.sub("''", source)


def rough_commands(source: str) -> Iterator[InnerCommand]:
    """Yield the commands that source may run.

    Args:
        source: Source that no rule could read.
    """
    carriers = _CARRIERS | _PRINTERS if _FEEDS_SHELL.search(source) else _CARRIERS
    for piece in re.split(r"[;&|\n(){}`]+", source):
        words = piece.split()
        while words and words[0] in _BEFORE:
            words = words[1:]
        if not words:
            continue
        yield _command(words)
        if posixpath.basename(words[0]) in carriers:
            for at in range(1, min(len(words), _LOOKED_AT)):
                yield _command([word.strip("'\"") for word in words[at : at + _LONGEST]])


def _command(words: list[str]) -> InnerCommand:
    return InnerCommand(tuple(map(Word.of, words)))
