"""The tool `file_edit`."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Annotated, Final

from pegboard import Arg, OutputLimits, ToolContext, ToolFailure, ToolHelp, ToolResult, tool
from pegboard_files.diff import unified_diff
from pegboard_files.edit import Ambiguous, Edit, NotFound, plain_ends, replace_text
from pegboard_files.failing import path_errors
from pegboard_files.names import plural, shown, size_text
from pegboard_files.nearest import nearest
from pegboard_files.text_format import PROBE, binary_kind, encoded, text_format

MAX_BYTES: Final = 10 << 20
_LINES_NAMED: Final = 20


@dataclass(frozen=True, slots=True)
class _Reading:
    """One way to read a file's bytes that gives the same bytes back.

    Args:
        text: The file as text, without its mark.
        encoding: Codec.
        errors: Its error handler.
        sure: Whether the file is text in that encoding, so that any character may be put in.
    """

    text: str
    encoding: str
    errors: str
    sure: bool


@tool(
    effects={"read", "fs_write"},
    category="file",
    capability="orch:write",
    aliases=("edit_file", "edit", "str_replace", "replace_in_file"),
    intents=(
        "(replace|change) {old_string:quoted} (with|by|to|into) {new_string:quoted} "
        "in [the] [file] {path:path}",
    ),
    limits=OutputLimits(chars=10_000, keep="tail"),
    help=ToolHelp(
        when_to_use="To change a part of a text file. Read the file first.",
        examples=(
            '{"path": "app.py", "old_string": "debug = True", "new_string": "debug = False"}',
            '{"path": "a.md", "old_string": "colour", "new_string": "color", "replace_all": true}',
        ),
        failure_modes=(
            "no_match: shows the nearest text and the characters that differ",
            "several_matches: names the lines; add lines around, or set replace_all",
            "no_change: old and new text are the same",
        ),
    ),
)
async def file_edit(
    ctx: ToolContext,
    path: Annotated[str, Arg("Path of the file.", access="fs_write", min_length=1)],
    old_string: Annotated[
        str, Arg("The text to replace, exactly as in the file, without line numbers.")
    ],
    new_string: Annotated[str, Arg("The text to put in its place.")],
    replace_all: Annotated[bool, Arg("Replace every place instead of the only one.")] = False,
    encoding: Annotated[
        str | None,
        Arg("Encoding of the file when it is not UTF-8, e.g. latin-1 or shift_jis."),
    ] = None,
) -> ToolResult:
    """Replace text in a file, and nothing else.

    The old text must be in the file exactly once, unless replace_all is set. Line ends, a byte
    order mark and all other bytes stay as they are.
    """
    _check(old_string, new_string)
    async with path_errors(ctx.sandbox, path):
        data = await ctx.sandbox.read(path, limit=MAX_BYTES + 1)
        mark, readings = _readings(path, data, encoding)
        reading, edit = _edited(path, readings, old_string, new_string, replace_all)
        after = mark + _encoded(path, reading, edit)
        await ctx.sandbox.write(path, after)
    count = len(edit.lines)
    lines = _line_list(edit.lines)
    facts = {"path": path, "replacements": count, "lines": list(edit.lines), "bytes": len(after)}
    diff = unified_diff(path, plain_ends(reading.text), plain_ends(edit.text))
    return ToolResult(
        output=f"Replaced {plural(count, 'place')} in {shown(path)} ({lines}).",
        structured=facts,
        details={**facts, **({"diff": _valid(diff)} if diff else {})},
    )


def _check(old: str, new: str) -> None:
    if not old:
        raise ToolFailure(
            "old_string is empty.",
            fix="Name the text to replace; use file_write for a whole file.",
            code="invalid_arguments",
        )
    if plain_ends(old) == plain_ends(new):
        raise ToolFailure(
            "old_string and new_string are the same.",
            fix="Nothing needs to be changed.",
            code="no_change",
        )
    for text in (old, new):
        encoded(text, "text")


def _readings(path: str, data: bytes, encoding: str | None) -> tuple[bytes, list[_Reading]]:
    """Return the file's mark, and the ways to read it, the likeliest first."""
    if len(data) > MAX_BYTES:
        raise ToolFailure(
            f"{shown(path)} is larger than {size_text(MAX_BYTES)}.",
            fix="Files of that size can't be edited with this tool.",
            code="too_large",
        )
    if encoding is not None:
        return b"", [_told(path, data, encoding)]
    how = text_format(data[:PROBE])
    if how is None:
        raise ToolFailure(
            f"{shown(path)} is a binary file ({binary_kind(data)}).",
            fix="Only text can be edited.",
            code="binary",
        )
    body = data[len(how.mark) :]
    if how.wide:
        return how.mark, [_told(path, body, how.encoding)]
    try:
        return how.mark, [_Reading(body.decode(), "utf-8", "strict", sure=True)]
    except UnicodeDecodeError:
        escaped = _Reading(
            body.decode("utf-8", "surrogateescape"), "utf-8", "surrogateescape", sure=False
        )
        # file_read shows stray bytes as Latin-1, so that is how the old text may be written
        as_shown = _Reading(body.decode("latin-1"), "latin-1", "strict", sure=False)
        return how.mark, [escaped, as_shown]


def _told(path: str, body: bytes, encoding: str) -> _Reading:
    try:
        name = codecs.lookup(encoding).name
        text = body.decode(name)
        same = text.encode(name) == body
    except LookupError as error:
        raise ToolFailure(
            f"{encoding} is no encoding.", fix="For example latin-1.", code="invalid_arguments"
        ) from error
    except (UnicodeError, ValueError):
        same = False
    if not same:
        raise ToolFailure(
            f"{shown(path)} is not {encoding}: it would not stay the same.",
            fix="Name another encoding.",
            code="encoding",
        )
    return _Reading(text, name, "strict", sure=True)


def _edited(
    path: str, readings: list[_Reading], old: str, new: str, replace_all: bool
) -> tuple[_Reading, Edit]:
    for reading in readings:
        try:
            return reading, replace_text(reading.text, old, new, replace_all=replace_all)
        except NotFound:
            continue
        except Ambiguous as error:
            raise ToolFailure(
                f"old_string is in {shown(path)} {len(error.lines)} times "
                f"({_line_list(error.lines)}).",
                fix="Add lines around it so that it is there once, or set replace_all.",
                code="several_matches",
                lines=list(error.lines),
            ) from None
    raise _no_match(path, readings[0].text, old)


def _encoded(path: str, reading: _Reading, edit: Edit) -> bytes:
    if not reading.sure and not edit.inserted.isascii():
        raise ToolFailure(
            f"{shown(path)} is not UTF-8, so it can't be told how to write the new text.",
            fix="Name the file's encoding in `encoding`, or use ASCII.",
            code="encoding",
        )
    try:
        return edit.text.encode(reading.encoding, reading.errors)
    except UnicodeEncodeError as error:
        character = edit.text[error.start]
        raise ToolFailure(
            f"{reading.encoding} has no U+{ord(character):04X} {character!r}.",
            fix="Use other characters.",
            code="encoding",
        ) from error


def _no_match(path: str, text: str, old: str) -> ToolFailure:
    plain, wanted = plain_ends(text), plain_ends(old)
    near = nearest(plain, wanted)
    if near is None:
        return ToolFailure(
            f"old_string is not in {shown(path)}, and nothing like it is.",
            fix="Read the file, then copy the text from it.",
            code="no_match",
        )
    message = f"old_string is not in {shown(path)}. The nearest text begins at line {near.line}:"
    differences = "".join(f"\n- {difference}" for difference in near.differences)
    return ToolFailure(
        _valid(f"{message}\n{near.text}{differences}\n"),
        fix="Copy the text from the file, without line numbers.",
        code="no_match",
        line=near.line,
    )


def _line_list(lines: tuple[int, ...]) -> str:
    named = ", ".join(str(line) for line in lines[:_LINES_NAMED])
    rest = f" and {len(lines) - _LINES_NAMED} more" if len(lines) > _LINES_NAMED else ""
    return f"{'line' if len(lines) == 1 else 'lines'} {named}{rest}"


def _valid(text: str) -> str:
    """Return `text` with stray bytes replaced, so that it can be shown."""
    return text.encode("utf-8", "replace").decode()
