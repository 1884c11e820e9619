"""Recompute what the demo printed, from the files themselves, and tell every difference.

    python examples/run_demo.py FOLDER > output.txt
    python examples/check_demo.py FOLDER output.txt

It uses nothing of Pegboard. Exit code 0: every fact holds; 1: one does not, or there are none.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

_HEAD: Final = re.compile(
    r"\[(?P<tool>list_dir|content_search|file_read|glob_search)(?P<rest>.*)\]"
)
_ARGUMENT: Final = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')
_MATCH: Final = re.compile(r"(?P<file>.+?):(?P<line>\d+):(?P<text>.*)")
_NUMBERED: Final = re.compile(r" *(?P<line>\d+)\t(?P<text>.*)")
_TOTAL: Final = re.compile(r"\[lines \d+-\d+ of (?P<total>\d+); .*\]")
_CLIPPED: Final = "…"
_SKIPPED: Final = ".git"
_TOLD: Final = 5


class Check:
    """The facts of one folder, beside those that were printed about it.

    Attributes:
        facts: Number of facts that were compared.
        wrong: One sentence for each that does not hold.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.facts = 0
        self.wrong: list[str] = []

    def equal(self, what: str, printed: object, real: object) -> None:
        """Compare one fact."""
        self.facts += 1
        if printed != real:
            self.wrong.append(f"{what}: printed {printed!r}, but it is {real!r}")

    def same(self, what: str, printed: Collection[Any], real: Collection[Any]) -> None:
        """Compare two sets; each member is a fact."""
        self.facts += len(real)
        for item in [item for item in printed if item not in real][:_TOLD]:
            self.wrong.append(f"{what}: {item!r} was printed, but is not there")
        for item in [item for item in real if item not in printed][:_TOLD]:
            self.wrong.append(f"{what}: {item!r} is there, but was not printed")

    def list_dir(self, arguments: dict[str, str], body: list[str]) -> None:
        """Every entry is there with its size, and none is missing."""
        depth = int(arguments.get("depth", "1"))
        printed = dict(listed(body))
        start = self.folder / arguments.get("path", ".")
        real = {path.relative_to(start).as_posix(): entry(path) for path in walk(start, depth)}
        if is_whole(body):
            self.same("the entries", printed, real)
        for name in sorted(printed.keys() & real.keys()):
            self.equal(f"the size of {name}", printed[name], real[name])

    def content_search(self, arguments: dict[str, str], body: list[str]) -> None:
        """Every line that holds the word is there, and every line printed holds it."""
        word = arguments["pattern"]
        printed: dict[tuple[str, int], str] = {}
        for line in body:
            found = _MATCH.fullmatch(line)
            if found:
                printed[found["file"], int(found["line"])] = found["text"]
        real = {
            (file, number): text
            for file in self._files()
            if not (self.folder / file).is_symlink()
            for number, text in enumerate(text_lines(self.folder / file, decoded_for_search), 1)
            if word in text
        }
        for place, text in printed.items():
            if _CLIPPED not in text:
                self.equal(f"line {place}", text, real.get(place))
        ignoring = any(path.name == ".gitignore" for path in walk(self.folder, 99))
        if is_whole(body) and not ignoring:
            self.same(f"the lines with {word}", printed, real)

    def file_read(self, arguments: dict[str, str], body: list[str]) -> None:
        """Each line is that of the file, and the number of lines is the file's."""
        name = arguments["path"]
        lines = text_lines(self.folder / name)
        shown = 0
        for line in body:
            found = _NUMBERED.fullmatch(line)
            total = _TOTAL.fullmatch(line)
            if found and _CLIPPED not in found["text"]:
                number = int(found["line"])
                real = lines[number - 1] if number <= len(lines) else None
                self.equal(f"{name}, line {number}", found["text"], real)
            shown += bool(found)
            if total:
                self.equal(f"the number of lines of {name}", int(total["total"]), len(lines))
        if not any(_TOTAL.fullmatch(line) for line in body):
            self.equal(f"the number of lines shown of {name}", shown, len(lines))

    def glob_search(self, arguments: dict[str, str], body: list[str]) -> None:
        """Every file with the suffix is there, and no other."""
        suffix = arguments["pattern"].removeprefix("**/*")
        printed = [line for line in body if not line.startswith("[")]
        real = [name for name in self._files() if name.endswith(suffix)]
        if is_whole(body):
            self.same(f"the files that end in {suffix!r}", printed, real)

    def _files(self) -> list[str]:
        found = (path for path in walk(self.folder, 99) if path.is_file())
        names = [path.relative_to(self.folder) for path in found]
        return [name.as_posix() for name in names if _SKIPPED not in name.parts]


def walk(folder: Path, depth: int) -> Iterator[Path]:
    """Yield what is below a folder, without following links to folders."""
    for path in sorted(folder.iterdir()):
        yield path
        if depth > 1 and path.is_dir() and not path.is_symlink():
            yield from walk(path, depth - 1)


def entry(path: Path) -> str:
    """Return the mark or the size that stands behind an entry."""
    if path.is_symlink():
        return "@"
    if path.is_dir():
        return "/"
    size = float(path.stat().st_size)
    if size < 1024:
        return f"{size:.0f} B"
    units = iter(("KiB", "MiB", "GiB", "TiB"))
    unit = next(units)
    size /= 1024
    while size >= 1024:
        unit = next(units)
        size /= 1024
    return f"{size:.1f} {unit}"


def is_whole(body: list[str]) -> bool:
    """Return False for a result that says that there is more."""
    return not any(line.startswith(("[more than ", "[stopped ", "[... ", "... ")) for line in body)


def listed(body: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the path and the mark or size of each line of a listing, which is indented by depth."""
    parents: list[str] = []
    for line in body:
        if line.startswith("["):
            continue
        name = line.lstrip(" ")
        level = (len(line) - len(name)) // 2
        name, _, size = name.partition("  ")
        mark = name[-1] if name[-1] in "/@" else size
        name = name.rstrip("/@")
        del parents[level:]
        yield "/".join([*parents, name]), mark
        parents.append(name)


def decoded(line: bytes) -> str:
    """Return a line as it is read: one that is not UTF-8 is shown as Latin-1."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def decoded_for_search(line: bytes) -> str:
    """Return a line as a search shows it: what is not UTF-8 is replaced."""
    return line.decode("utf-8", "replace")


def text_lines(path: Path, decode: Callable[[bytes], str] = decoded) -> list[str]:
    """Return the lines of a text file, none for a file that is not text."""
    data = path.read_bytes()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):  # its mark says that it is UTF-16
        data = data.decode("utf-16", "replace").encode()
    if b"\0" in data[:8192]:
        return []
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return [decode(line.removesuffix(b"\r")) for line in lines]


def sections(output: str) -> Iterator[tuple[str, dict[str, str], list[str]]]:
    """Yield the tool, the arguments and the lines of each result; an empty line ends it."""
    lines = iter(output.split("\n"))
    for line in lines:
        head = _HEAD.fullmatch(line)
        if head:
            yield head["tool"], arguments_of(head["rest"]), list(takewhile(bool, lines))


def arguments_of(text: str) -> dict[str, str]:
    """Return the `key=value` pairs of a heading."""
    return {key: quoted or bare for key, quoted, bare in _ARGUMENT.findall(text)}


def main(arguments: list[str]) -> int:
    """Check the output in a file against a folder; return 0 when every fact holds."""
    folder = Path(arguments[0])
    output = Path(arguments[1]).read_bytes().decode("utf-8")
    check = Check(folder)
    tools = []
    for tool, given, body in sections(output):
        compare: Callable[[dict[str, str], list[str]], None] = getattr(check, tool)
        compare(given, body)
        tools.append(tool)
    for line in check.wrong:
        print(line)
    print(f"{len(tools)} results, {check.facts} facts, {len(check.wrong)} of them wrong")
    return 0 if len(tools) >= 3 and check.facts and not check.wrong else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
