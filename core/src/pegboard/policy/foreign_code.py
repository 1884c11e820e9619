"""What code of other languages does that stands in a command: `python -c`, `perl -e` and the like.

Only what is written out is seen: a path as a text, a command as a text or a list of texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

INTERPRETER: Final = re.compile(
    r"(?:python|pypy)[\d.]*|perl[\d.]*|ruby[\d.]*|node|nodejs|deno|bun|php[\d.]*"
)
"""Programs that are given code."""
_TEXT: Final = r"""\s{0,8}[rbf]?(?P<quote>\\?["'])(?P<text>[^"'\\]{0,400})(?P=quote)"""
_DELETES: Final = re.compile(
    r"\b(?:rmtree|remove_tree|rm_rf|rm_r|rmSync|rmdirSync)\s{0,8}\(?(?:\w{0,20}\.?Path\()?" + _TEXT
)
_DELETES_HOME: Final = re.compile(
    r"\b(?:rmtree|remove_tree|rm_rf|rm_r|rmSync|rmdirSync)\s{0,8}\(?\s{0,8}"
    r"""(?:os\.path\.expanduser\(\\?["']~/?\\?["']\)|(?:pathlib\.)?Path\.home\(\)"""
    r"""|os\.environ\[\\?["']HOME\\?["']\]|Dir\.home|(?:os|require\("os"\))\.homedir\(\))\s{0,8}[,)]"""
)
_RUNS: Final = re.compile(
    r"\b(?:system|popen|Popen|run|call|check_call|check_output|getoutput|exec|execSync|spawnSync"
    r"|shell_exec|passthru)\s{0,8}\(?" + _TEXT
)
_RUNS_LIST: Final = re.compile(
    r"\b(?:Popen|run|call|check_call|check_output|system|exec)\s{0,8}\(\s{0,8}\[(?P<list>[^\]]{0,400})\]"
)
_TEXTS: Final = re.compile(r"""\\?["']([^"'\\]{0,200})\\?["']""")
_FORKS: Final = re.compile(
    r"\bwhile\s{0,8}\(?\s{0,8}(?:True|true|1)\s{0,8}\)?\s{0,8}[:{]?\s{0,20}(?:os\.)?fork\b"
    r"|\bfork\b[\s();]{0,8}while\s{0,8}\(?\s{0,8}(?:1|true|fork)\b"
    r"|\bos\.fork\(\)\s{1,8}for\s{1,8}\w{1,20}\s{1,8}in\s{1,8}(?:iter\(int,|itertools\.)"
)


def deleted(code: str) -> Iterator[str]:
    """Yield the folders that code deletes with all that is in them; `~` = the home folder."""
    if _DELETES_HOME.search(code):
        yield "~"
    for found in _DELETES.finditer(code):
        yield found["text"]


def run(code: str) -> Iterator[str | tuple[str, ...]]:
    """Yield the commands that code runs: source of a shell, or the words of a command."""
    for found in _RUNS.finditer(code):
        yield found["text"]
    for found in _RUNS_LIST.finditer(code):
        yield tuple(_TEXTS.findall(found["list"]))


def forks_without_end(code: str) -> bool:
    """Tell whether code starts copies of itself in a loop that does not end."""
    return _FORKS.search(code) is not None
