"""Read the front matter of a `SKILL.md`: the facts between two `---` lines.

Real files are written by hand, so this reads the part of YAML that they use, without a library and
without surprises: every scalar stays text (`no` is no boolean, `1.10` no number), and the value of
`description: Use this: it helps` is the rest of the line, where a YAML parser gives up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pegboard.skills.scalars import block_text, plain_text, quoted_items

Value = str | list[str] | dict[str, str]

MAX_CHARS: Final = 64 * 1024
_SPLIT: Final = re.compile(
    r"\A\ufeff?---[ \t]*\r?\n(.*?)(?:\r?\n)?^---[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_KEY: Final = re.compile(r"([A-Za-z0-9_.-]+)[ \t]*:(?:[ \t]+(.*))?")
_BLOCK: Final = re.compile(r"[|>][+-]?[0-9]?[+-]?(?:[ \t]+#.*)?")


@dataclass(frozen=True, slots=True)
class SkillText:
    """A skill's file, taken apart.

    Args:
        front: The facts, by name.
        body: The instructions.
        problems: Sentences about what could not be read; the rest was.
    """

    front: Mapping[str, Value] = field(default_factory=dict)
    body: str = ""
    problems: tuple[str, ...] = ()


def parse_skill(text: str) -> SkillText:
    """Take the text of a `SKILL.md` apart. Never raises: what can't be read is named."""
    match = _SPLIT.match(text)
    if match is None:
        problem = "it has no front matter between two `---` lines at its beginning"
        return SkillText(body=text.removeprefix("\ufeff"), problems=(problem,))
    if len(match[1]) > MAX_CHARS:
        return SkillText(
            body=text[match.end() :],
            problems=(f"its front matter is longer than {MAX_CHARS} characters",),
        )
    front: dict[str, Value] = {}
    problems: list[str] = []
    for line, key, block in _entries(match[1], problems):
        if key in front:
            problems.append(f"line {line}: `{key}` is given twice; the first one counts")
            continue
        front[key] = _value(block)
    return SkillText(front, text[match.end() :], tuple(problems))


def _entries(text: str, problems: list[str]) -> list[tuple[int, str, list[str]]]:
    """Return line number, key and lines of each entry; the first line is what follows the colon."""
    entries: list[tuple[int, str, list[str]]] = []
    # the opening `---` is line 1
    for number, raw in enumerate(text.split("\n"), 2):
        line = raw.rstrip("\r")
        blank = not line.strip() or line.lstrip().startswith("#")
        if line[:1] in ("", " ", "\t", "#") or line.startswith("- "):
            if entries:
                entries[-1][2].append(line)
            elif not blank:
                problems.append(f"line {number}: no `key: value`")
            continue
        match = _KEY.fullmatch(line)
        if match is None:
            problems.append(f"line {number}: no `key: value`")
            continue
        entries.append((number, match[1], [match[2] or ""]))
    return entries


def _value(lines: list[str]) -> Value:
    first, rest = lines[0].strip(), lines[1:]
    if _BLOCK.fullmatch(first):
        return block_text(first, rest)
    if first.startswith(("[", "{")):
        return _flow(" ".join([first, *(line.strip() for line in rest)]))
    if first and not first.startswith("#"):
        return plain_text([first, *rest])
    return _nested(rest)


def _flow(text: str) -> Value:
    if text.startswith("[") and "]" in text:
        return quoted_items(text[1 : text.rindex("]")])
    if text.startswith("{") and "}" in text:
        pairs = (item.partition(":") for item in quoted_items(text[1 : text.rindex("}")]))
        return {key.strip(): plain_text([value]) for key, _, value in pairs}
    return text


def _nested(lines: list[str]) -> Value:
    """Return `- item` lines as a list, `key: value` lines as a table, nothing as ""."""
    items = [line.strip() for line in lines if line.strip() and line.strip()[0] != "#"]
    if not items:
        return ""
    if all(item == "-" or item.startswith("- ") for item in items):
        return [plain_text([item[1:]]) for item in items]
    table = [match for item in items if (match := _KEY.fullmatch(item))]
    if table and _KEY.fullmatch(items[0]):
        return {match[1]: plain_text([match[2] or ""]) for match in table}
    return " ".join(plain_text([item]) for item in items)
