"""What a command is told to run: by programs that run others, and by what shells do themselves.

A program that is not named here is taken to run nothing that its arguments say. One that is, with
an option that is not named here, raises `UnclearError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from pegboard.policy.shell_words import UnclearError, Word

Command = tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Nested:
    """What a command is told to run.

    Args:
        commands: Commands, as their words.
        sources: Shell source, and whether it is Bash that reads it; None = the shell that reads
            the command.
        carries: True when the command does nothing else.
    """

    commands: tuple[Command, ...] = ()
    sources: tuple[tuple[str, bool | None], ...] = ()
    carries: bool = False


@dataclass(frozen=True, slots=True)
class _Options:
    """How a program takes options before the command that it runs.

    Args:
        flags: Options without a value.
        values: Options with one, in the next word or behind the option.
        before: Words between the options and the command.
        carries: True when it changes nothing about the command.
        sets: True when variables may be set before the command.
    """

    flags: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    before: int = 0
    carries: bool = True
    sets: bool = False


_RUNNERS: Final = {
    "nohup": _Options(),
    "nice": _Options(values=("-n", "--adjustment=")),
    "ionice": _Options(flags=("-t",), values=("-c", "-n", "--class=", "--classdata=")),
    "timeout": _Options(
        flags=("-v", "--verbose", "--foreground", "--preserve-status"),
        values=("-s", "-k", "--signal=", "--kill-after="),
        before=1,
    ),
    "time": _Options(flags=("-p", "-v"), values=("-f", "--format=")),
    "stdbuf": _Options(values=("-i", "-o", "-e", "--input=", "--output=", "--error=")),
    "setsid": _Options(flags=("-c", "-f", "-w", "--ctty", "--fork", "--wait")),
    "command": _Options(flags=("-p", "-v", "-V")),
    "builtin": _Options(),
    "exec": _Options(flags=("-c", "-l", "-cl", "-lc"), values=("-a",)),
    "env": _Options(
        flags=("-", "-i", "-0", "-v", "--ignore-environment", "--null", "--debug"),
        values=("-u", "-C", "--unset=", "--chdir="),
        sets=True,
    ),
    "sudo": _Options(
        flags=("-n", "-E", "-H", "-S", "-k", "-b", "-A", "--non-interactive"),
        values=("-u", "-g", "-p", "-C", "-r", "-t", "-D", "-R", "-T", "--user=", "--group="),
        carries=False,
        sets=True,
    ),
    "doas": _Options(flags=("-n",), values=("-u",), carries=False),
    "xargs": _Options(
        flags=("-0", "-r", "-t", "-x", "--null", "--no-run-if-empty", "--verbose"),
        values=("-n", "-P", "-L", "-d", "-s", "-a", "-I", "-E", "--max-args=", "--max-procs="),
    ),
}
_PLACES: Final = ("", "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin")
_SHELLS: Final = frozenset({"sh", "bash", "dash", "ash"})
_OTHER: Final = frozenset(
    {
        *("zsh", "ksh", "mksh", "fish", "csh", "tcsh", "rbash", "pwsh", "nu", "xonsh", "busybox"),
        *("toybox", "su", "runuser", "setpriv", "chroot", "nsenter", "unshare", "flock", "watch"),
        *("parallel", "script", "strace", "ltrace", "entr", "expect", "at", "batch", "systemd-run"),
        *("alias", "enable", "bind", "complete", "compgen", "let", "fc", "history", "coproc"),
    }
)
"""Programs that run what they are told in ways that are not read here, and words of a shell that
change what it reads."""
_NAMES: Final = frozenset({"read", "unset", "mapfile", "readarray", "getopts", "wait"})
_DECLARES: Final = frozenset({"declare", "typeset", "local", "export", "readonly"})
_ASSIGNED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_SET: Final = re.compile(r"[-+][abCefhkmnpPtTuvx]*o?")
_BASH_WORDS: Final = ("--login", "--noprofile", "--norc", "--posix")
_BASH_FLAGS: Final = re.compile(r"[-+][abefhklmnprtuvxBCEPT]*[co]?[abefhklmnprtuvxBCEPT]*")


def nested(words: Command) -> Nested:
    """Return what a command is told to run.

    Args:
        words: The program and its arguments.

    Raises:
        UnclearError: When that can't be told.
    """
    if not words:
        return Nested()
    program = words[0].text
    if program is None:
        raise UnclearError("which program it runs is known only when it runs")
    place, _, name = program.rpartition("/")
    if name in _OTHER:
        raise UnclearError(f"what {name} runs is not read")
    if name in _RUNNERS:
        told = _run(name, words)
    elif name in _READ:
        told = _READ[name](words)
    else:
        return Nested()
    # elsewhere it may be another program of that name
    return told if place in _PLACES else replace(told, carries=False)


def _text(word: Word) -> str:
    if word.text is None:
        raise UnclearError("an option is known only when it runs")
    return word.text


def _run(name: str, words: Command) -> Nested:
    """Read a program that runs the command behind its options."""
    options = _RUNNERS[name]
    rest, used = _behind_options(options, words[1:])
    carries = options.carries and used.keys().isdisjoint(("-C", "--chdir="))
    while options.sets and rest and "=" in (rest[0].parts[0] or ""):
        if not rest[0].single:
            raise UnclearError("which program it runs is known only when it runs")
        rest, carries = rest[1:], False
    rest = rest[options.before :]
    if name == "xargs":
        rest = _with_input(rest, used.get("-I"))
    if not rest:
        return Nested()
    return Nested(commands=(rest,), carries=carries)


def _behind_options(options: _Options, words: Command) -> tuple[Command, dict[str, str]]:
    """Return the words behind the options, and the options with a value that were used."""
    used: dict[str, str] = {}
    at = 0
    while at < len(words):
        if words[at].parts[0] is None:
            raise UnclearError("which program it runs is known only when it runs")
        text = words[at].text or ""
        if not text.startswith("-"):
            break
        at += 1
        if text == "--":
            break
        if text in options.flags or re.fullmatch(r"-\d+", text):
            continue
        value = next((value for value in options.values if text.startswith(value)), None)
        if value is None:
            raise UnclearError(f"the option {text} is not known")
        used[value] = text.removeprefix(value)
        if text == value and not value.endswith("="):
            if at == len(words):
                raise UnclearError(f"the option {text} has no value")
            used[value] = _text(words[at])
            at += 1
    return words[at:], used


def _with_input(words: Command, replaced: str | None) -> Command:
    """Return a command of `xargs`, to which it adds what it reads.

    Args:
        words: The program and its arguments.
        replaced: What stands for it in the arguments; None = it is added at the end.
    """
    if not words or replaced is None:
        return (*words, Word((None,), single=False)) if words else ()
    if replaced in _text(words[0]):
        raise UnclearError("which program it runs is known only when it runs")
    return (*words[:1], *(Word((None,)) for _ in words[1:]))


def _shell(words: Command) -> Nested:
    """Read a shell that is given its source, or a file."""
    at, given = 1, False
    while at < len(words) and _text(words[at])[:1] in ("-", "+"):
        text = _text(words[at])
        at += 1
        if text in ("-", "--"):
            break
        if text in _BASH_WORDS:
            continue
        if not _BASH_FLAGS.fullmatch(text):
            raise UnclearError(f"the option {text} of a shell is not known")
        given = given or "c" in text
        if "o" in text:
            _known_option(words[at : at + 1])
            at += 1
    if at >= len(words):
        raise UnclearError("a shell reads what it runs from its input")
    if not given:
        return Nested()
    bash = _text(words[0]).endswith("bash")
    return Nested(sources=((_text(words[at]), bash),), carries=True)


def _eval(words: Command) -> Nested:
    return Nested(sources=((" ".join(map(_text, words[1:])), None),), carries=True)


def _trap(words: Command) -> Nested:
    if len(words) < 2 or _text(words[1]) in ("", "-", "-l", "-p"):
        return Nested()
    at = 2 if _text(words[1]) == "--" else 1
    return Nested(sources=tuple((_text(word), None) for word in words[at : at + 1]), carries=True)


def _find(words: Command) -> Nested:
    """Read the commands that `find` runs for what it finds."""
    commands: list[Command] = []
    command: list[Word] | None = None
    for word in words[1:]:
        if not word.single:
            raise UnclearError("an option is known only when it runs")
        if command is None:
            command = [] if word.text in ("-exec", "-execdir", "-ok", "-okdir") else None
        elif word.text == ";" or (word.text == "+" and command[-1:] == [_FOUND]):
            commands.append(tuple(command))
            command = None
        else:
            command.append(_FOUND if "{}" in (word.text or "") else word)
    if command is not None:
        raise UnclearError("a command of `find` does not end")
    return Nested(commands=tuple(commands))


def _names(words: Command) -> Nested:
    """Refuse names of variables that hold subscripts: evaluating one can run commands."""
    for word in words[1:]:
        if "[" in _text(word) or _text(word).startswith("-C"):
            raise UnclearError("a subscript can run commands")
    return Nested()


def _declare(words: Command) -> Nested:
    for word in words[1:]:
        if _ASSIGNED.match(word.bare):
            continue
        text = _text(word)
        option = text.startswith(("-", "+")) and "i" not in text and "n" not in text
        if not option and not text.isidentifier():
            raise UnclearError("a declaration can run commands")
    return Nested()


def _printf(words: Command) -> Nested:
    if len(words) > 1 and (words[1].text is None or words[1].text.startswith("-v")):
        raise UnclearError("a subscript can run commands")
    return Nested()


def _test(words: Command) -> Nested:
    """Refuse a test that may look at a variable by a name that is not known."""
    if any(not word.single or word.text in ("-v", "-R") for word in words):
        raise UnclearError("a subscript can run commands")
    for word, behind in pairwise(words[1:]):
        if word.text is None and "[" in (behind.text or "["):
            raise UnclearError("a subscript can run commands")
    return Nested()


def _set(words: Command) -> Nested:
    """Refuse options that make a shell read words in another way."""
    options = iter(words[1:])
    for word in options:
        text = _text(word)
        if text in ("-", "--") or text[:1] not in ("-", "+"):
            break
        if not _SET.fullmatch(text):
            raise UnclearError(f"the option {text} is not known")
        if text.endswith("o"):
            _known_option(tuple(options)[:1])
            break
    return Nested()


def _known_option(words: Command) -> None:
    if any(_text(word) in ("history", "histexpand") for word in words):
        raise UnclearError("an option changes what is read")


def _shopt(words: Command) -> Nested:
    if any(_text(word) in ("expand_aliases", "extglob") for word in words[1:]):
        raise UnclearError("an option changes what is read")
    return Nested()


def _hash(words: Command) -> Nested:
    if any(_text(word).startswith("-") and "p" in _text(word) for word in words[1:]):
        raise UnclearError("a name is given to another program")
    return Nested()


_FOUND: Final = Word((None,))
"""What stands for a file that was found."""
_READ: Final[dict[str, Callable[[Command], Nested]]] = {
    **dict.fromkeys(_SHELLS, _shell),
    **dict.fromkeys(_NAMES, _names),
    **dict.fromkeys(_DECLARES, _declare),
    "eval": _eval,
    "trap": _trap,
    "find": _find,
    "printf": _printf,
    "test": _test,
    "[": _test,
    "set": _set,
    "shopt": _shopt,
    "hash": _hash,
}
