"""Commands that nobody wants to run by mistake: a second line behind rules and sandboxes.

It stops slips, not ill will: what a program does by itself, or what only the shell knows, is not
seen. A sandbox is what holds.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from pegboard.policy.inner_commands import InnerCommand, inner_commands
from pegboard.policy.shell_words import Word

Kind = Literal[
    "delete_root", "change_root", "make_file_system", "overwrite_device", "fork_bomb", "kill_all",
    "shut_down", "guess_password",
]  # fmt: skip
REASONS: Final[dict[Kind, str]] = {
    "delete_root": "it deletes a folder of the system, or a home folder, with all that is in it",
    "change_root": "it changes who may use a folder of the system, or a home folder, and all in it",
    "make_file_system": "it makes a new file system, or erases the signs of the old one",
    "overwrite_device": "it writes over a disk",
    "fork_bomb": "it starts copies of itself without end",
    "kill_all": "it ends every process that it can reach",
    "shut_down": "it shuts the machine down",
    "guess_password": "it gives sudo a password from its input",
}
_ROOTS: Final = frozenset(
    {
        *("/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/opt", "/proc"),
        *("/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/var"),
        *("/Applications", "/Library", "/System", "/Users", "/Volumes"),
    }
)
_HOME: Final = re.compile(r"/(?:home|Users)/[^/*]+")
_VARIABLE_HOME: Final = re.compile(
    r"\brm\s+(?:-\S{1,40}\s+){0,8}(?:-\w{0,20}[rR]\w{0,20}|--recursive)\s+(?:-\S{1,40}\s+){0,8}"
    r"[\"']?\$(?:HOME\b|\{HOME\})[\"']?/?\*?[\"']?\s*(?:$|[;&|)\n])"
)
_BOMB: Final = re.compile(
    r"(?<![\w:.])([\w:.]{1,64})\s*\(\s*\)\s*\{[^}]{0,200}?\1\s*\|\s*\1\s*&[^}]{0,200}\}"
)
"""Both are bounded in each part: the time they take must not grow as the square of the source."""
_DISK: Final = re.compile(
    r"/dev/(?:[shvx]v?d[a-z]\d*|nvme\d.*|mmcblk\d.*|r?disk\d.*|mapper/.+|md\d.*|dm-\d+|mem|kmem|port)"
)
_MAKERS: Final = re.compile(r"mkfs(?:\..+)?|mke2fs|mkswap|wipefs|blkdiscard|newfs(?:_.+)?")
_ENDS: Final = frozenset({"shutdown", "reboot", "halt", "poweroff"})
_SYSTEMCTL: Final = frozenset({"poweroff", "reboot", "halt", "kexec", "emergency", "rescue"})
_BEFORE: Final = frozenset({"then", "do", "else", "if", "while", "until", "!", "sudo", "exec"})
_UNKNOWN: Final = "*"


@dataclass(frozen=True, slots=True)
class Catastrophe:
    """What a command would do.

    Args:
        kind: Its name, stable.
        reason: It as the rest of a sentence.
    """

    kind: Kind
    reason: str


def catastrophe(source: str | tuple[str, ...]) -> Catastrophe | None:
    """Return which catastrophe shell source, or the words of one command, would bring, or None.

    Args:
        source: Source as `bash -c` takes it, or a program and its arguments.
    """
    kind = _found(source)
    return None if kind is None else Catastrophe(kind, REASONS[kind])


def _found(source: str | tuple[str, ...]) -> Kind | None:
    if isinstance(source, str):
        if _BOMB.search(source):
            return "fork_bomb"
        if _VARIABLE_HOME.search(source):
            return "delete_root"
    found = inner_commands(source)
    commands = [*found.commands]
    if found.unclear and isinstance(source, str):
        commands += _roughly(source)
    for command in commands:
        for check in _CHECKS:
            kind = check(command)
            if kind is not None:
                return kind
    return None


def _roughly(source: str) -> Iterator[InnerCommand]:
    """Yield commands of source that can't be read: by what parts them, whatever is quoted."""
    for piece in re.split(r"[;&|\n(){}`]+", source):
        words = piece.split()
        while words and words[0] in _BEFORE:
            yield InnerCommand(tuple(map(Word.of, words)))
            words = words[1:]
        yield InnerCommand(tuple(map(Word.of, words)))


def _deletes(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    if program == "rm" and _recursive(arguments, "rR"):
        reaches = "--no-preserve-root" in arguments or any(map(_is_root, _operands(arguments)))
        return "delete_root" if reaches else None
    if program == "find":
        starts = [item for item in arguments if not item.startswith("-")]
        deletes = "-delete" in arguments or ("rm" in arguments and "-exec" in arguments)
        return "delete_root" if deletes and any(map(_is_root, starts[:1])) else None
    return None


def _changes(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    if program not in ("chmod", "chown", "chgrp") or not _recursive(arguments, "R"):
        return None
    return "change_root" if any(map(_is_root, _operands(arguments)[1:])) else None


def _writes(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    if _MAKERS.fullmatch(program):
        asks = {"--help", "-V", "--version", "-n", "--no-act"} & set(arguments)
        return None if asks or not arguments else "make_file_system"
    targets = [_text(word) for sign, word in command.redirections if ">" in sign]
    if program == "dd":
        targets += [item[3:] for item in arguments if item.startswith("of=")]
    elif program in ("shred", "tee"):
        targets += _operands(arguments)
    elif program in ("cp", "mv"):
        targets += _operands(arguments)[-1:]
    return "overwrite_device" if any(map(_DISK.fullmatch, targets)) else None


def _kills(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    if program == "killall5":
        return "kill_all"
    # alone it is the number of a signal
    if program == "kill" and len(arguments) > 1 and "-1" in arguments[1:]:
        return "kill_all"
    return None


def _shuts(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    first = next(iter(_operands(arguments)), "")
    ends = (
        (program in _ENDS and "--help" not in arguments)
        or (program in ("init", "telinit") and first in ("0", "6"))
        or (program == "systemctl" and first in _SYSTEMCTL)
    )
    return "shut_down" if ends else None


def _guesses(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    if program != "sudo":
        return None
    for item in arguments:
        if not item.startswith("-") or item == "--":
            return None
        if item == "--stdin" or (not item.startswith("--") and "S" in item):
            return "guess_password"
    return None


_CHECKS: Final[tuple[Callable[[InnerCommand], Kind | None], ...]] = (
    _deletes, _changes, _writes, _kills, _shuts, _guesses,
)  # fmt: skip


def _read(command: InnerCommand) -> tuple[str, list[str]]:
    """Return the program without its folder, and its arguments; `*` for what is not known."""
    words = [_text(word) for word in command.words]
    return (posixpath.basename(words[0]), words[1:]) if words else ("", [])


def _text(word: Word) -> str:
    return "".join(_UNKNOWN if part is None else part for part in word.parts)


def _operands(arguments: list[str]) -> list[str]:
    return list(_without_options(arguments))


def _without_options(arguments: list[str]) -> Iterator[str]:
    only_operands = False
    for item in arguments:
        if item == "--" and not only_operands:
            only_operands = True
        elif only_operands or not item.startswith("-"):
            yield item


def _recursive(arguments: list[str], letters: str) -> bool:
    for item in arguments:
        if item == "--":
            return False
        if item == "--recursive":
            return True
        if re.fullmatch(rf"-\w*[{letters}]\w*", item):
            return True
    return False


def _is_root(path: str) -> bool:
    """Tell whether a path is a root, a folder of the system, or a home; or all that is in one."""
    if path.startswith("~"):
        return path.count("/") == 0 or path.rstrip("/*.").count("/") == 0
    if not path.startswith("/"):
        return False
    place = posixpath.normpath(re.sub("/+", "/", path))
    if place in ("/", "/*", "/.*"):
        return True
    place = place.removesuffix("/*")
    return place in _ROOTS or _HOME.fullmatch(place) is not None
