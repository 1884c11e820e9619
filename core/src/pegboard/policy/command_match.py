"""Whether patterns of a rule match the commands inside of shell source."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from pegboard.policy.inner_commands import InnerCommand, inner_commands
from pegboard.policy.patterns import REGEX, Pattern, Reading, spellings
from pegboard.policy.shell_words import Word

Source = str | tuple[str, ...]
_ANYTHING: Final = "*"


def could_run(patterns: Sequence[Pattern], source: Source) -> bool:
    """Tell whether source could run a command that one of the patterns matches.

    True also when that can't be told. A pattern may mean the whole source, a whole command, or the
    program alone, with or without the folder it is in.

    Args:
        patterns: Patterns of a rule that asks or denies.
        source: Shell source, or the words of one command.
    """
    found = inner_commands(source)
    if found.unclear:
        return True
    readings: list[Reading] = [(source if isinstance(source, str) else " ".join(source),)]
    readings += [reading for command in found.commands for reading in _readings(command)]
    return any(pattern.could(reading) for pattern in patterns for reading in readings)


def must_run(patterns: Sequence[Pattern], source: Source) -> bool:
    """Tell whether everything that source runs is a command that one of the patterns matches.

    A glob is matched word by word: `git log *` allows any arguments behind `git log`, and `cat
    docs/*` one file below `docs`. What carries a command, a shell or `timeout` say, need not match
    itself. A command that writes to a file by `>` is matched by no glob.

    Args:
        patterns: Patterns of a rule that allows.
        source: Shell source, or the words of one command.
    """
    found = inner_commands(source)
    commands = [command for command in found.commands if not command.carries]
    return (
        not found.unclear
        and bool(commands)
        and all(any(_allows(pattern, command) for pattern in patterns) for command in commands)
    )


def _readings(command: InnerCommand) -> Iterator[tuple[str | None, ...]]:
    """Yield the ways in which a person may have meant to write a command."""
    for words in _spelled(command.words):
        for before in {(), command.assignments}:
            yield _reading((*before, *words))
            yield _reading((*before, *words, *_files(command)))
    if command.words:
        yield _reading(command.words[:1])
        yield _reading((_without_folder(command.words[0]),))


def _spelled(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    straight = tuple(map(_straightened, words))
    yield from (words, straight)
    if words:
        yield (_without_folder(words[0]), *straight[1:])


def _files(command: InnerCommand) -> list[Word]:
    return [word for sign, file in command.redirections for word in (Word.of(sign), file)]


def _straightened(word: Word) -> Word:
    return word if word.text is None else Word.of(list(spellings(word.text))[-1])


def _without_folder(program: Word) -> Word:
    return Word.of(posixpath.basename(str(program.text)))


def _reading(words: Sequence[Word]) -> tuple[str | None, ...]:
    pieces: list[str | None] = []
    for word in words:
        pieces.extend((" ", *_pieces(word)))
    return tuple(pieces[1:])


def _pieces(word: Word) -> tuple[str | None, ...]:
    """Return a word in pieces; whose home folder `~` is, nobody knows here."""
    if not word.bare.startswith("~"):
        return word.parts
    text = "".join(part for part in word.parts if part is not None)
    rest = text.partition("/")[2]
    return (None,) if None in word.parts else (None, f"/{rest}" if rest else "")


def _allows(pattern: Pattern, command: InnerCommand) -> bool:
    words = (*command.assignments, *command.words)
    if pattern.text.startswith(REGEX):
        texts = [word.text for word in (*words, *_files(command))]
        known = [text for text in texts if text is not None]
        return len(known) == len(texts) and pattern.must(" ".join(map(_quoted, known)))
    return not command.redirections and _word_by_word(pattern.text.split(), words)


def _word_by_word(globs: Sequence[str], words: Sequence[Word]) -> bool:
    if globs[-1:] == [_ANYTHING]:
        globs, words = globs[:-1], words[: len(globs) - 1]
    if len(globs) != len(words):
        return False
    return all(
        word.single and glob == _ANYTHING if word.text is None else Pattern(glob).must(word.text)
        for glob, word in zip(globs, words, strict=True)
    )


def _quoted(text: str) -> str:
    return text if text.split() == [text] and "'" not in text else shlex.quote(text)
