"""The commands inside of shell source: what a rule about a command is applied to.

Everything that a shell would run by itself is found: in lists and pipes, in subshells, functions
and loops, in `$(...)` and backquotes, behind `sudo`, `env`, `xargs` and the like, and in the source
that another shell or `eval` is given. Too much may be found, never too little: where it can't be
told, that is said. What the programs themselves do is not seen; sandboxes are for that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from pegboard.policy.shell_words import META, UnclearError, Word, Words
from pegboard.policy.shell_wrappers import nested

LONGEST: Final = 20_000
"""Characters of source that are looked at."""
_DEEPEST: Final = 16
_MOST: Final = 500
_SKIPPED: Final = frozenset(
    {"if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!", "time"}
)
"""Reserved words behind which another command may begin."""
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_RULES_SHELLS: Final = re.compile(r"PS[04]|PROMPT_COMMAND|(BASH_)?ENV|(SHELL|BASH)OPTS")
"""Variables whose values a shell runs, or is ruled by."""
_DESCRIPTOR: Final = re.compile(r"\d+|\{[A-Za-z_][A-Za-z0-9_]*\}")
_DUPLICATE: Final = re.compile(r"\d*-?")
_REDIRECTIONS: Final = (*("&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">&", ">|", "<", ">"),)
_NO_FILES: Final = ("/dev/null", "/dev/stdout", "/dev/stderr")
_ONLY_BASH: Final = re.compile(
    r"\[\[|(?<!\$)\(\(|\$['\"]|&>|[<>]\(|<<<|=\(|\}[<>]|\b(function|select|coproc)\b"
)
"""What another shell reads in another way."""
_EVALUATES: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"})
_UNMATCHED: Final = "parentheses or quotes do not match"


@dataclass(frozen=True, slots=True)
class InnerCommand:
    """One command.

    Args:
        words: The program and its arguments; empty where there are only redirections.
        assignments: Variables that are set for it, or for what follows.
        redirections: Operator and file of each.
        carries: True when all that it does is to run others of the commands found.
        piped: True when it reads what the command before it writes.
    """

    words: tuple[Word, ...]
    assignments: tuple[Word, ...] = ()
    redirections: tuple[tuple[str, Word], ...] = ()
    carries: bool = False
    piped: bool = False


@dataclass(frozen=True, slots=True)
class InnerCommands:
    """What shell source runs.

    Args:
        commands: All that was found.
        unclear: Why there may be others, or "" when these are all.
    """

    commands: tuple[InnerCommand, ...]
    unclear: str = ""


@lru_cache(maxsize=64)
def inner_commands(source: str | tuple[str, ...]) -> InnerCommands:
    """Return the commands that shell source, or a list of a program and its arguments, runs.

    Args:
        source: Source as `bash -c` takes it, or the words of one command.
    """
    found: list[InnerCommand] = []
    try:
        if isinstance(source, str):
            _Reader(source, found).all()
        elif source:
            _add(found, InnerCommand(tuple(map(Word.of, source))))
    except UnclearError as why:
        return InnerCommands(tuple(found), str(why))
    return InnerCommands(tuple(found))


class _Reader:
    """Finds the commands of one source.

    Args:
        source: The source.
        found: Where they are added.
        depth: How many sources this one is inside of.
        bash: False when another shell reads it.
    """

    def __init__(
        self, source: str, found: list[InnerCommand], *, depth: int = 0, bash: bool = True
    ) -> None:
        if len(source) > LONGEST:
            raise UnclearError("it is too long")
        if "\0" in source or (not bash and _ONLY_BASH.search(source)):
            raise UnclearError("shells do not read it alike")
        self._found = found
        self._depth = depth
        self._bash = bash
        self._words = Words(source, self._nested, self._until_paren)
        self._documents: list[tuple[str | None, bool, bool]] = []
        self._cases = 0
        self._piped = False

    def all(self) -> None:
        """Read the whole source."""
        self._list("")

    def _nested(self, source: str) -> None:
        _Reader(source, self._found, depth=self._depth + 1, bash=self._bash).all()

    def _until_paren(self) -> None:
        if self._documents:
            raise UnclearError("a here-document begins in the middle of a line")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UnclearError("it is nested too deeply")
        self._list(")")
        self._words.skip()
        self._depth -= 1

    def _list(self, end: str) -> None:
        """Read commands up to `)` or the end of the source."""
        words = self._words
        outer, self._cases = self._cases, 0
        while True:
            self._command()
            if words.takes("\n"):
                self._read_documents()
            elif words.takes(";"):
                self._piped = False
                self._end_of_choice()
            elif words.takes("||") or words.takes("&"):
                self._piped = False
            elif words.takes("|&") or words.takes("|"):
                self._piped = True
            else:
                break
        if words.next != end or self._cases or self._documents:
            raise UnclearError(_UNMATCHED)
        self._cases = outer

    def _command(self) -> None:
        """Read one command up to what ends it."""
        words = self._words
        piped, self._piped = self._piped, False
        found: list[Word] = []
        files: list[tuple[str, Word]] = []
        while True:
            words.blanks()
            if words.next == "(":
                self._paren(found)
            elif operator := self._operator():
                self._redirection(operator, files)
            elif words.next in ("", ";", "&", "|", "\n", ")"):
                break
            else:
                word = self._word()
                if found or files or not self._reserved(word):
                    found.append(word)
                if self._names_descriptor(word):
                    found.pop()
        if found or files:
            self._keep(found, files, piped=piped)
        else:
            self._piped = piped  # it may be on the next line

    def _keep(self, words: list[Word], files: list[tuple[str, Word]], *, piped: bool) -> None:
        count = 0
        while count < len(words) and (match := _ASSIGNMENT.match(words[count].bare)):
            if _RULES_SHELLS.fullmatch(match[1]):
                raise UnclearError(f"{match[1]} rules what a shell runs")
            count += 1
        parts = tuple(words[count:]), tuple(words[:count]), tuple(files)
        command = InnerCommand(*parts, piped=piped)
        _add(self._found, command, depth=self._depth, bash=self._bash)

    def _word(self) -> Word:
        """Read a word, or an assignment of a list."""
        words = self._words
        word = words.read()
        if words.next != "(" or not _ASSIGNMENT.fullmatch(word.bare) or word.text != word.bare:
            return word
        words.skip()
        self._space()
        while not words.takes(")"):
            if words.next == "[" or words.next in META:
                raise UnclearError("a list is set in a way that is not read")
            words.read()
            self._space()
        return Word((word.text, None), bare=word.bare)

    def _names_descriptor(self, word: Word) -> bool:
        """Tell whether a word belongs to the redirection behind it, as in `2>file`."""
        before = self._words.next in ("<", ">") and word.plain
        return before and _DESCRIPTOR.fullmatch(str(word.text)) is not None

    def _space(self) -> None:
        """Pass over blanks, comments and ends of lines."""
        self._words.blanks()
        while self._words.takes("\n"):
            self._read_documents()
            self._words.blanks()

    def _paren(self, found: list[Word]) -> None:
        """Read a subshell, an arithmetic expression, or the parentheses of a function."""
        words = self._words
        if not found:
            if words.takes("(("):
                words.fixed_arithmetic()
            else:
                words.skip()
                self._until_paren()
            return
        words.skip()
        words.blanks()
        if len(found) > 1 or not words.takes(")"):
            raise UnclearError(_UNMATCHED)
        found.clear()

    def _operator(self) -> str:
        """Pass over an operator of a redirection and return it, or "" when none comes."""
        if self._words.is_process():
            return ""
        return next(filter(self._words.takes, _REDIRECTIONS), "")

    def _redirection(self, operator: str, files: list[tuple[str, Word]]) -> None:
        words = self._words
        words.blanks()
        if words.next in META and not words.is_process():
            raise UnclearError("a redirection names no file")
        word = words.read()
        if operator in ("<<", "<<-"):
            # one whose end is not known has none
            self._documents.append((word.text, word.plain, operator == "<<-"))
            return
        descriptor = operator in ("<&", ">&") and _DUPLICATE.fullmatch(word.text or "x")
        if operator != "<<<" and word.text not in _NO_FILES and not descriptor:
            files.append((operator, word))

    def _read_documents(self) -> None:
        """Pass over the here-documents that begin in this line."""
        documents, self._documents = self._documents, []
        for end, expands, indented in documents:
            while True:
                line = self._words.line()
                if (line.lstrip("\t") if indented else line) == end:
                    break
                if expands and ("$" in line or "`" in line or line.endswith("\\")):
                    raise UnclearError("a here-document holds expansions")

    def _reserved(self, word: Word) -> bool:
        """Read what a reserved word is about; False when the word is none."""
        text = word.text if word.plain else None
        if text == "time":
            self._time()
        elif text in ("for", "select"):
            self._loop()
        elif text == "case":
            self._case()
        elif text == "esac":
            self._cases -= 1
        elif text == "function":
            self._function()
        elif text == "[[":
            self._test()
        return text in _SKIPPED or text in ("for", "select", "case", "esac", "function", "[[")

    def _time(self) -> None:
        self._words.blanks()
        if self._words.next == "-" and self._words.read().text not in ("-p", "--"):
            raise UnclearError("an option of `time` is not known")

    def _loop(self) -> None:
        """Read the head of a loop; its words are data."""
        words = self._words
        words.blanks()
        words.read()
        words.blanks()
        if words.next in (";", "\n"):
            return
        text = words.read().text
        if text == "do":
            return
        if text != "in":
            raise UnclearError("a loop is not read")
        words.blanks()
        while words.next not in ("", ";", "\n"):
            if words.next in META and not words.is_process():
                raise UnclearError("a loop is not read")
            words.read()
            words.blanks()

    def _case(self) -> None:
        words = self._words
        words.blanks()
        words.read()
        self._space()
        if words.read().text != "in":
            raise UnclearError("a `case` is not read")
        self._cases += 1
        self._choice()

    def _end_of_choice(self) -> None:
        """Read `;;`, `;&` or `;;&`, of which the first `;` has been read."""
        ends = self._words.takes(";")
        if self._words.takes("&") or ends:
            self._choice()

    def _choice(self) -> None:
        """Read the patterns of one choice of a `case`, or its end."""
        words = self._words
        if not self._cases:
            raise UnclearError(_UNMATCHED)
        self._space()
        opened = words.takes("(")
        while True:
            words.blanks()
            word = words.read()
            if word.plain and word.text == "esac" and not opened:
                self._cases -= 1
                return
            words.blanks()
            if words.takes(")"):
                return
            if not words.takes("|"):
                raise UnclearError("a `case` is not read")

    def _function(self) -> None:
        words = self._words
        words.blanks()
        words.read()
        words.blanks()
        if words.takes("("):
            words.blanks()
            if not words.takes(")"):
                raise UnclearError(_UNMATCHED)

    def _test(self) -> None:
        """Read `[[ ... ]]`."""
        words = self._words
        while True:
            self._space()
            if not words.next:
                raise UnclearError("a test does not end")
            if words.next in META and not words.is_process():
                words.skip()
                continue
            text = words.read().text
            if text in _EVALUATES:
                raise UnclearError("a test can run commands")
            if text == "]]":
                return


def _add(
    found: list[InnerCommand], command: InnerCommand, *, depth: int = 0, bash: bool = True
) -> None:
    """Add a command, and what it is told to run."""
    if len(found) >= _MOST or depth > _DEEPEST:
        raise UnclearError("it holds too many commands")
    told = nested(command.words)
    alone = not command.assignments and not command.redirections
    found.append(replace(command, carries=told.carries and alone))
    for source, by_bash in told.sources:
        _Reader(source, found, depth=depth + 1, bash=bash if by_bash is None else by_bash).all()
    for words in told.commands:
        _add(found, InnerCommand(words, piped=command.piped), depth=depth + 1, bash=bash)
