"""Commands that nobody wants to run by mistake: a second line behind rules and sandboxes.

It stops slips, not ill will. Not seen is what a program does by itself (a script, a Makefile), what
only the shell knows (variables but `$HOME`, globs), what is put together or decoded on the way
(base64 into a shell), and what comes from elsewhere (`curl | sh`). A sandbox is what holds.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, Literal

from pegboard.policy.brace_words import expanded
from pegboard.policy.find_words import ran, starts, takes_some_names
from pegboard.policy.foreign_code import INTERPRETER, deleted, forks_without_end, run
from pegboard.policy.inner_commands import InnerCommand, inner_commands
from pegboard.policy.rough_commands import HOME, rough_commands, unquoted, with_home
from pegboard.policy.shell_words import Word

Kind = Literal[
    "delete_root", "move_root", "change_root", "make_file_system", "overwrite_device", "fork_bomb",
    "kill_all", "shut_down", "guess_password",
]  # fmt: skip
Names = Literal["", "input", "arguments"]
REASONS: Final[dict[Kind, str]] = {
    "delete_root": "it deletes a folder of the system, or a home folder, with all that is in it",
    "move_root": "it moves a folder of the system, or a home folder, away",
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
_BOMB: Final = re.compile(
    r"(?<![\w:.])([\w:.]{1,64})\s{0,8}(?:\(\s{0,8}\))?\s{0,8}\{"
    r"[^}]{0,200}?(?<![\w:.])\1\s{0,8}(?:\|\s{0,8}\1\s{0,8}&|&\s{0,8}\1(?![\w:.]))[^}]{0,200}\}"
    r"|(?<!\w)do\s{1,8}(?:(?:ba|da)?sh\s{1,8})?[\"']?\$0[\"']?\s{0,8}&(?!&)"
)
"""Bounded in each part: the time it takes must not grow as the square of the source."""
_DISK: Final = re.compile(
    r"/dev/(?:[shvx]v?d[a-z]\d*|nvme\d.*|mmcblk\d.*|r?disk\d.*|mapper/.+|disk/.+|md\d.*|dm-\d+|mem|kmem|port)"
)
_EVERYTHING: Final = re.compile(r"\brm\s[^;&|\n]{0,200}?\s(?:\./)?\*(?=\s|$|[;&|)}])")
_SYSRQ: Final = "/proc/sysrq-trigger"
_PARTS: Final[dict[str, str]] = {
    "sgdisk": r"-[ZzodntgG].*|--(?:zap|clear|delete|new|mbrtogpt|load|typecode).*",
    "parted": r"mklabel|mktable|mkpart|rm|resizepart",
    "cryptsetup": r"luksFormat|luksErase|erase|reencrypt",
    "hdparm": r"--security-erase.*|--trim-sector.*",
    "badblocks": r"-\w*w\w*",
    "truncate": r".*",
    "nvme": r"format|sanitize",
}
"""Programs that write to the disk they are given, and what says that they will."""
_LOOKS: Final[dict[str, str]] = {
    "fdisk": r"-l|--list|-s|--getsz",
    "sfdisk": r"-[lFTdJgsnVq]|--(?:list.*|dump|json|show-.*|no-act|verify|part-.*|disk-id)",
}
"""Programs that write to the disk they are given, unless something says that they only look."""
_MAKERS: Final = re.compile(r"mkfs(?:\..+)?|mke2fs|mkswap|wipefs|blkdiscard|newfs(?:_.+)?")
_TRIES: Final = re.compile(r"mke2fs|mkfs\.(?:ext\d|ntfs)|wipefs")
"""Those of which `-n` only says what they would do; to others it is a name, or a size."""
_ENDS: Final = frozenset({"shutdown", "reboot", "halt", "poweroff"})
_STATES: Final = frozenset(
    {"poweroff", "reboot", "halt", "kexec", "emergency", "rescue", "suspend", "hibernate"}
)
_TARGET: Final = (
    r"(?:poweroff|reboot|halt|kexec|emergency|rescue|shutdown|exit|suspend|hibernate|runlevel[016])"
    r"\.target"
)
_EVERYONE: Final = frozenset({"", ".", ".*", "^", ".+"})
"""Patterns that every name matches."""
_CLEARS: Final = frozenset({"rm", "shred", "unlink", "srm"})
_ASKS: Final = frozenset({"--help", "--version"})
_STDIN: Final = re.compile(r"--stdin|-[^CDRSTUacghprtu-]*S.*", re.DOTALL)
_SUDO_VALUE: Final = re.compile(
    r"-[^CDRTUacghprtu-]*[CDRTUacghprtu]"
    r"|--(?:user|group|prompt|host|chdir|chroot|role|type|other-user|close-from|command-timeout)"
)
"""Options of `sudo` whose value is the next word."""
_CHANGES: Final = frozenset({"chmod", "chown", "chgrp", "setfacl"})
_SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "su", "eval"})
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


def _found(source: str | tuple[str, ...], *, depth: int = 0) -> Kind | None:
    source = with_home(source) if isinstance(source, str) else tuple(map(with_home, source))
    text = source if isinstance(source, str) else " ".join(source)
    if _bombs(source):
        return "fork_bomb"
    found = inner_commands(source)
    commands = [*found.commands]
    if found.unclear:
        commands += rough_commands(text)
    everything = _EVERYTHING.search(text) is not None
    return _first(commands, everything) or (None if depth else _in_code(commands, text))


def _first(commands: Iterable[InnerCommand], everything: bool) -> Kind | None:
    """Return what the first of the commands brings that brings a catastrophe.

    Args:
        commands: The commands in order.
        everything: True when one of them is given all that is in its folder.
    """
    place = ""
    names: Names = ""
    for command in commands:
        place = _place_after(command, place)
        names = _names_after(command, names)
        if names == "arguments" and _read(command)[0] in _CLEARS:
            return "delete_root"
        for check in _CHECKS:
            kind = check(command)
            if kind is not None:
                return kind
        if place and _deletes_here(command, everything):
            return "delete_root"
    return None


def _bombs(source: str | tuple[str, ...]) -> bool:
    if isinstance(source, str):
        return _BOMB.search(unquoted(source)) is not None
    names = map(posixpath.basename, source)
    return not _SHELLS.isdisjoint(names) and any(map(_BOMB.search, source))


def _in_code(commands: Iterable[InnerCommand], text: str) -> Kind | None:
    """Return what code of another language brings that one of the commands is given."""
    for command in commands:
        program, arguments = _read(command)
        if not INTERPRETER.fullmatch(program):
            continue
        # code in a here-document is no word of the command
        for code in (text,) if "<<" in text else (*arguments,):
            kind = _of_code(code)
            if kind is not None:
                return kind
    return None


def _of_code(code: str) -> Kind | None:
    if forks_without_end(code):
        return "fork_bomb"
    if any(map(_is_root, filter(None, deleted(code)))):
        return "delete_root"
    return next(filter(None, (_found(source, depth=1) for source in run(code))), None)


def _place_after(command: InnerCommand, place: str) -> str:
    """Return the root or home that commands work in after this one, or "" for any other folder."""
    program, arguments = _read(command)
    if program not in ("cd", "pushd"):
        return place
    to = next(iter(_operands(arguments)), HOME if program == "cd" else "")
    return to if to and _is_root(to) and "*" not in to else ""


def _names_after(command: InnerCommand, names: Names) -> Names:
    """Return where the names of all that is in a root, or some of them, are after a command.

    Args:
        command: The command; what `xargs` runs comes behind it.
        names: Where they were before it: in its input, among the arguments of what it runs.
    """
    program, arguments = _read(command)
    if program == "find" and _finds_all(arguments):
        return "input"
    if not command.piped:
        return ""
    return "arguments" if names and program == "xargs" else names


def _finds_all(arguments: list[str]) -> bool:
    """Tell whether `find` comes upon what is in a root; of a home, upon more than some names."""
    some = takes_some_names(arguments)
    return any(_is_root(place) and not (some and _is_home(place)) for place in starts(arguments))


def _deletes_here(command: InnerCommand, everything: bool) -> bool:
    """Tell whether a command deletes all of the folder that it works in."""
    program, arguments = _read(command)
    here = {".", "./", "..", "../", *(("*", "./*") if everything else ())}
    return (
        program == "rm"
        and _recursive(arguments, "rR")
        and not here.isdisjoint(_operands(arguments))
    )


def _deletes(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    operands = _operands(arguments)
    if program == "rm" and _recursive(arguments, "rR"):
        reaches = "--no-preserve-root" in arguments or any(map(_is_root, operands))
        return "delete_root" if reaches else None
    if program == "rsync" and any(item.startswith("--del") for item in arguments):
        return "delete_root" if any(map(_is_root, operands[1:][-1:])) else None
    if program == "find":
        runs = ran(arguments)
        deletes = "-delete" in arguments or not _CLEARS.isdisjoint(map(posixpath.basename, runs))
        return "delete_root" if deletes and _finds_all(arguments) else None
    return None


def _moves(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    if program != "mv":
        return None
    moved = _operands(arguments)[:-1]
    return "move_root" if any(map(_is_root, moved)) else None


def _changes(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    if program not in _CHANGES or not _recursive(arguments, "R"):
        return None
    return "change_root" if any(map(_is_root, _operands(arguments))) else None


def _writes(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    if _MAKERS.fullmatch(program):
        return None if _only_tells(program, arguments) else "make_file_system"
    return "overwrite_device" if any(map(_DISK.fullmatch, _written(command))) else None


def _written(command: InnerCommand) -> list[str]:
    """Return the files that a command writes."""
    program, arguments = _read(command)
    files = [_text(word) for sign, word in command.redirections if ">" in sign]
    operands = _operands(arguments)
    if program == "dd":
        files += [item[3:] for item in arguments if item.startswith("of=")]
    elif program in ("shred", "tee"):
        files += operands
    elif program in ("cp", "mv"):
        files += operands[-1:]
    elif _parts(program, arguments):
        files += operands
    return files


def _parts(program: str, arguments: list[str]) -> bool:
    """Tell whether a program writes to the disk that it is given."""
    if program in _LOOKS:
        return not _any(_LOOKS[program], arguments)
    return program in _PARTS and _any(_PARTS[program], arguments)


def _any(pattern: str, arguments: Iterable[str]) -> bool:
    return any(re.fullmatch(pattern, item) for item in arguments)


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
    by_pattern = program == "pkill" or (program == "killall" and "-r" in arguments)
    return "kill_all" if by_pattern and not _EVERYONE.isdisjoint(_operands(arguments)) else None


def _shuts(command: InnerCommand) -> Kind | None:
    program, arguments = _read(command)
    if _SYSRQ in _written(command):
        return "shut_down"
    if not _ASKS.isdisjoint(arguments):
        return None
    first, *others = _operands(arguments) or ("",)
    ends = (
        (program in _ENDS and "-c" not in arguments)  # it takes back what was planned
        or (program in ("init", "telinit") and first in ("0", "6"))
        or (program in ("systemctl", "loginctl") and first in _STATES)
        or (program == "systemctl" and first in ("start", "isolate") and _any(_TARGET, others))
        or (program == "kexec" and not {"-e", "--exec"}.isdisjoint(arguments))
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
    _deletes, _moves, _changes, _writes, _kills, _shuts, _guesses,
)  # fmt: skip


def _read(command: InnerCommand) -> tuple[str, list[str]]:
    """Return the program without its folder, and its arguments; `*` for what is not known."""
    words = [text for word in command.words for text in _texts(word)]
    return (posixpath.basename(words[0]), words[1:]) if words else ("", [])


def _texts(word: Word) -> Sequence[str]:
    return expanded(word.braces) if word.braces else (_text(word),)


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
    return place.removesuffix("/*") in _ROOTS or _is_home(place)


def _is_home(path: str) -> bool:
    """Tell whether a path is a home, or all that is in one."""
    place = posixpath.normpath(path).removesuffix("/*")
    return (place[:1] == "~" and "/" not in place) or _HOME.fullmatch(place) is not None
