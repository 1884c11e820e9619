"""Commands that nobody wants to run by mistake: a second line behind rules and sandboxes.

It stops slips, not ill will: what a program does by itself, or what only the shell knows, is not
seen. A sandbox is what holds.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import dropwhile, takewhile
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
    r"/dev/(?:[shvx]v?d[a-z]\d*|nvme\d.*|mmcblk\d.*|r?disk\d.*|mapper/.+|disk/.+|md\d.*|dm-\d+|mem|kmem|port)"
)
_MAKERS: Final = re.compile(r"mkfs(?:\..+)?|mke2fs|mkswap|wipefs|blkdiscard|newfs(?:_.+)?")
_TRIES: Final = re.compile(r"mke2fs|mkfs\.(?:ext\d|ntfs)|wipefs")
"""Those of which `-n` only says what they would do; to others it is a name, or a size."""
_FIND_OPTION: Final = re.compile(r"--|-[EHLPXdsx]+|-[DO]\S*")
_FIND_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_ENDS: Final = frozenset({"shutdown", "reboot", "halt", "poweroff"})
_SYSTEMCTL: Final = frozenset({"poweroff", "reboot", "halt", "kexec", "emergency", "rescue"})
_ASKS: Final = frozenset({"--help", "--version"})
_STDIN: Final = re.compile(r"--stdin|-[^CDRSTUacghprtu-]*S.*", re.DOTALL)
_SUDO_VALUE: Final = re.compile(
    r"-[^CDRTUacghprtu-]*[CDRTUacghprtu]"
    r"|--(?:user|group|prompt|host|chdir|chroot|role|type|other-user|close-from|command-timeout)"
)
"""Options of `sudo` whose value is the next word."""
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
    if found.unclear:
        commands += _roughly(source if isinstance(source, str) else " ".join(source))
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
        starts = takewhile(_is_operand, dropwhile(_FIND_OPTION.fullmatch, arguments))
        runs = dropwhile(lambda item: item not in _FIND_RUNS, arguments)
        deletes = "-delete" in arguments or "rm" in map(posixpath.basename, runs)
        return "delete_root" if deletes and any(map(_is_root, starts)) else None
    return None


def _changes(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    if program not in ("chmod", "chown", "chgrp") or not _recursive(arguments, "R"):
        return None
    return "change_root" if any(map(_is_root, _operands(arguments))) else None


def _writes(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    if _MAKERS.fullmatch(program):
        return None if _only_tells(program, arguments) else "make_file_system"
    targets = [_text(word) for sign, word in command.redirections if ">" in sign]
    if program == "dd":
        targets += [item[3:] for item in arguments if item.startswith("of=")]
    elif program in ("shred", "tee"):
        targets += _operands(arguments)
    elif program in ("cp", "mv"):
        targets += _operands(arguments)[-1:]
    return "overwrite_device" if any(map(_DISK.fullmatch, targets)) else None


def _only_tells(program: str, arguments: list[str]) -> bool:
    """Tell whether a program that makes file systems would make none."""
    return (
        arguments in ([], ["-V"])  # beside anything else it means to say more
        or not _ASKS.isdisjoint(arguments)
        or (not {"-n", "--no-act"}.isdisjoint(arguments) and bool(_TRIES.fullmatch(program)))
    )


def _kills(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    if program == "killall5":
        return "kill_all"
    # what comes first is the number of a signal
    if program == "kill" and "-1" in arguments[1:]:
        return "kill_all"
    return None


def _shuts(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    if not _ASKS.isdisjoint(arguments):
        return None
    first = next(iter(_operands(arguments)), "")
    ends = (
        (program in _ENDS and "-c" not in arguments)  # it takes back what was planned
        or (program in ("init", "telinit") and first in ("0", "6"))
        or (program == "systemctl" and first in _SYSTEMCTL)
    )
    return "shut_down" if ends else None


def _guesses(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    if program != "sudo":
        return None
    rest = iter(arguments)
    for item in rest:
        if _STDIN.fullmatch(item):
            return "guess_password"
        if _SUDO_VALUE.fullmatch(item):
            next(rest, None)
        elif _is_operand(item):
            return None
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


def _is_operand(argument: str) -> bool:
    return not argument.startswith("-")


def _before_end(arguments: list[str]) -> list[str]:
    """Return the arguments that may be options: those up to `--`."""
    return list(takewhile(lambda item: item != "--", arguments))


def _operands(arguments: list[str]) -> list[str]:
    before = _before_end(arguments)
    return [*filter(_is_operand, before), *arguments[len(before) + 1 :]]


def _recursive(arguments: list[str], letters: str) -> bool:
    pattern = re.compile(rf"--recursive|-[^\W{letters}]*[{letters}]\w*")
    return any(map(pattern.fullmatch, _before_end(arguments)))


def _is_root(path: str) -> bool:
    """Tell whether a path is a root, a folder of the system, or a home; or all that is in one."""
    if path.startswith("~"):
        return "/" not in path.rstrip("/*.")
    place = posixpath.normpath(re.sub("/+", "/", path))
    if place in ("/", "/*", "/.*"):
        return True
    place = place.removesuffix("/*")
    return place in _ROOTS or _HOME.fullmatch(place) is not None
