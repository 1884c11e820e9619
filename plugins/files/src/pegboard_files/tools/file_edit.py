"""The tool `file_edit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, NotRequired

from typing_extensions import TypedDict

from pegboard import Arg, OutputLimits, ToolContext, ToolFailure, ToolHelp, ToolResult, tool
from pegboard_files import argument_names as names
from pegboard_files.diff import unified_diff
from pegboard_files.edit import (
    Ambiguous,
    Edit,
    NotFound,
    Overlapping,
    Replacement,
    plain_ends,
    replace_texts,
)
from pegboard_files.editable import Editable, editable, presentable
from pegboard_files.file_change import Content, FileChange
from pegboard_files.names import plural, shown
from pegboard_files.nearest import nearest
from pegboard_files.path_failures import not_found, path_errors
from pegboard_files.recovery import recover
from pegboard_files.seen import has_seen
from pegboard_files.text_format import encoded
from pegboard_files.undoable_changes import change_files, read_content

_LINES_NAMED: Final = 20


class TextEdit(TypedDict):
    """One replacement."""

    old_string: Annotated[
        str,
        Arg("The text to replace, exactly as in the file.", min_length=1, aliases=names.OLD),
    ]
    new_string: Annotated[str, Arg("The text to put in its place.", aliases=names.NEW)]
    replace_all: NotRequired[
        Annotated[
            bool, Arg("Replace every place instead of the only one.", aliases=names.EVERYWHERE)
        ]
    ]


@tool(
    effects={"read", "fs_write"},
    category="file",
    capability="orch:write",
    aliases=(
        "edit_file",
        "edit",
        "Edit",
        "replace",
        "str_replace",
        "str_replace_editor",
        "str_replace_based_edit_tool",
        "replace_in_file",
        "search_replace",
        "multi_edit",
        "multiedit",
        "MultiEdit",
    ),
    # a text that is there more than once is refused, whatever number of them was expected
    ignored_arguments=(
        *("expected_replacements", "expectedReplacements"),
        *(*names.EDITOR, *names.WHY),
    ),
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
            '{"path": "a.py", "edits": [{"old_string": "a = 1", "new_string": "a = 2"}, '
            '{"old_string": "b = 1", "new_string": "b = 2"}]}',
        ),
        failure_modes=(
            "no_match: shows the nearest text and the characters that differ",
            "several_matches: names the lines; add lines around, or set replace_all",
            "overlapping_edits: two edits want the same text",
            "no_change: old and new text are the same",
        ),
    ),
)
async def file_edit(
    ctx: ToolContext,
    path: Annotated[
        str, Arg("Path of the file.", access="fs_write", min_length=1, aliases=names.PATH)
    ],
    old_string: Annotated[
        str | None,
        Arg(
            "The text to replace, exactly as in the file, without line numbers.",
            aliases=names.OLD,
        ),
    ] = None,
    new_string: Annotated[
        str | None, Arg("The text to put in its place.", aliases=names.NEW)
    ] = None,
    replace_all: Annotated[
        bool, Arg("Replace every place instead of the only one.", aliases=names.EVERYWHERE)
    ] = False,
    edits: Annotated[
        list[TextEdit] | None,
        Arg(
            "Several replacements instead of one, each looked for in the file as it is now.",
            min_length=1,
            aliases=names.EDITS,
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        Arg("Encoding of the file when it is not UTF-8, e.g. latin-1 or shift_jis."),
    ] = None,
) -> ToolResult:
    """Replace text in a file, and nothing else.

    The old text must be in the file exactly once, unless replace_all is set. Line ends, a byte
    order mark and all other bytes stay as they are. Of several edits all are made, or none.
    """
    wanted = _replacements(old_string, new_string, replace_all, edits)
    recovered = await recover(ctx)
    async with path_errors(ctx.sandbox, path):
        target = ctx.sandbox.resolve(path, write=True)
        before = await read_content(ctx, target)
        if before is None:
            raise await not_found(ctx.sandbox, path)
        reading, edit = _edited(path, editable(path, before.data, encoding), wanted)
        after = Content(reading.encoded(path, edit.text, edit.inserted))
        known = [target] if before.stat and await has_seen(ctx, target, before.stat) else []
        change = FileChange(path, target, before, after)
        notes = await change_files(ctx, [change], tool="file_edit", known=known)
    count, lines = len(edit.lines), _line_list(edit.lines)
    facts = {
        "path": path,
        "replacements": count,
        "lines": list(edit.lines),
        "bytes": len(after.data),
    }
    diff = unified_diff(path, plain_ends(reading.text), plain_ends(edit.text))
    return ToolResult(
        output=f"Replaced {plural(count, 'place')} in {shown(path)} ({lines})."
        + "".join(f"\n[{note}]" for note in (*recovered, *notes)),
        structured=facts,
        details={**facts, **({"diff": presentable(diff)} if diff else {})},
    )


def _replacements(
    old: str | None, new: str | None, replace_all: bool, edits: Sequence[TextEdit] | None
) -> list[Replacement]:
    if (old is None) == (edits is None) or (old is None) != (new is None):
        raise ToolFailure(
            "This changes texts of a file: give old_string and new_string, or edits, not both.",
            fix='For several: "edits": [{"old_string": "...", "new_string": "..."}]. To see a '
            "file use file_read, to make one file_write; to insert, replace a line by itself and "
            "the new ones.",
            code="invalid_arguments",
        )
    if old is not None and new is not None:
        wanted = [Replacement(old, new, replace_all)]
    else:
        wanted = [
            Replacement(
                item["old_string"], item["new_string"], item.get("replace_all", replace_all)
            )
            for item in edits or ()
        ]
    for index, item in enumerate(wanted):
        _check(item, _name("old_string", index, wanted), _name("new_string", index, wanted))
    return wanted


def _check(item: Replacement, old: str, new: str) -> None:
    if not item.old:
        raise ToolFailure(
            f"{old} is empty.",
            fix="Name the text to replace; use file_write for a whole file.",
            code="invalid_arguments",
        )
    if plain_ends(item.old) == plain_ends(item.new):
        raise ToolFailure(
            f"{old} and {new} are the same.",
            fix="Nothing needs to be changed.",
            code="no_change",
        )
    for text in (item.old, item.new):
        encoded(text, "text")


def _name(argument: str, index: int, wanted: Sequence[Replacement]) -> str:
    return argument if len(wanted) == 1 else f"{argument} of edit {index + 1}"


def _edited(
    path: str, readings: Sequence[Editable], wanted: Sequence[Replacement]
) -> tuple[Editable, Edit]:
    missing = 0
    for reading in readings:
        try:
            return reading, replace_texts(reading.text, wanted)
        except NotFound as error:
            missing = max(missing, error.edit)
        except Ambiguous as error:
            raise ToolFailure(
                f"{_name('old_string', error.edit, wanted)} is in {shown(path)} "
                f"{len(error.lines)} times ({_line_list(error.lines)}).",
                fix="Add lines around it so that it is there once, or set replace_all.",
                code="several_matches",
                lines=list(error.lines),
            ) from None
        except Overlapping as error:
            one, other = sorted(error.edits)
            raise ToolFailure(
                f"Edits {one + 1} and {other + 1} want the same text of {shown(path)} "
                f"(line {error.line}).",
                fix="Make one edit of the two.",
                code="overlapping_edits",
                line=error.line,
            ) from None
    raise _no_match(
        path, readings[0].text, wanted[missing].old, _name("old_string", missing, wanted)
    )


def _no_match(path: str, text: str, old: str, called: str) -> ToolFailure:
    plain, wanted = plain_ends(text), plain_ends(old)
    near = nearest(plain, wanted, called=called)
    if near is None:
        return ToolFailure(
            f"{called} is not in {shown(path)}, and nothing like it is.",
            fix="Read the file, then copy the text from it.",
            code="no_match",
        )
    message = f"{called} is not in {shown(path)}. The nearest text begins at line {near.line}:"
    differences = "".join(f"\n- {difference}" for difference in near.differences)
    return ToolFailure(
        presentable(f"{message}\n{near.text}{differences}\n"),
        fix="Copy the text from the file, without line numbers.",
        code="no_match",
        line=near.line,
    )


def _line_list(lines: tuple[int, ...]) -> str:
    named = ", ".join(str(line) for line in lines[:_LINES_NAMED])
    rest = f" and {len(lines) - _LINES_NAMED} more" if len(lines) > _LINES_NAMED else ""
    return f"{'line' if len(lines) == 1 else 'lines'} {named}{rest}"
