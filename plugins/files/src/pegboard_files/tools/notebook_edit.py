"""The tool `notebook_edit`."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pegboard import Arg, OutputLimits, ToolContext, ToolFailure, ToolHelp, ToolResult, tool
from pegboard_files.argument_names import PATH
from pegboard_files.diff import unified_diff
from pegboard_files.file_change import Content, FileChange
from pegboard_files.names import plural, shown, size_text
from pegboard_files.notebook import MAX_BYTES, Notebook, parse_notebook, source_text
from pegboard_files.notebook_file import with_cell_inserted, with_cell_replaced, without_cell
from pegboard_files.path_failures import not_found, path_errors
from pegboard_files.recovery import recover
from pegboard_files.seen import require_seen
from pegboard_files.text_format import encoded
from pegboard_files.undoable_changes import change_files, read_content

Action = Literal["replace", "insert", "delete"]
CellType = Literal["code", "markdown", "raw"]
_BY_PLACE: Final = re.compile(r"(?:cell[-_ ]?)?(\d{1,6})")
_MARK: Final = "\ufeff"
_DONE: Final = {"replace": "Replaced", "insert": "Inserted", "delete": "Deleted"}


@tool(
    effects={"read", "fs_write"},
    category="file",
    capability="orch:write",
    aliases=("edit_notebook", "edit_notebook_cell", "notebook_edit_cell", "NotebookEdit"),
    limits=OutputLimits(chars=10_000, keep="tail"),
    help=ToolHelp(
        when_to_use="To change a cell of a Jupyter notebook. file_read shows the cells.",
        examples=(
            '{"path": "a.ipynb", "cell": "0", "source": "import os"}',
            '{"path": "a.ipynb", "cell": "b3f1", "action": "insert", "source": "# Title", '
            '"cell_type": "markdown"}',
            '{"path": "a.ipynb", "cell": "2", "action": "delete"}',
        ),
        failure_modes=(
            "no_notebook: the file is no notebook of version 4",
            "no_such_cell: names the cells there are",
            "not_read: the notebook was not read in this conversation",
            "stale: the notebook was changed since it was read",
        ),
    ),
)
async def notebook_edit(
    ctx: ToolContext,
    path: Annotated[
        str,
        Arg(
            "Path of the notebook.",
            access="fs_write",
            min_length=1,
            aliases=(*PATH, "notebook", "notebook_path"),
        ),
    ],
    cell: Annotated[
        str | int | None,
        Arg(
            "Identifier of the cell, or its number from 0. insert puts the new cell behind it; "
            "without it, at the beginning.",
            aliases=("cell_id", "cell_index", "cell_number", "index"),
        ),
    ] = None,
    source: Annotated[
        str | None,
        Arg("The new source.", aliases=("code", "content", "new_source", "new_string", "text")),
    ] = None,
    action: Annotated[
        Action, Arg("What to do with the cell.", aliases=("edit_mode", "mode", "operation"))
    ] = "replace",
    cell_type: Annotated[
        CellType | None,
        Arg("Kind of the cell; as it is, or code for a new one.", aliases=("type",)),
    ] = None,
) -> ToolResult:
    """Replace, insert or delete a cell of a Jupyter notebook.

    A code cell that changes loses its outputs. The rest of the file stays as it is, character by
    character.
    """
    recovered = await recover(ctx)
    async with path_errors(ctx.sandbox, path):
        target = ctx.sandbox.resolve(path, write=True)
        before = await read_content(ctx, target)
        if before is None or before.stat is None:
            raise await not_found(ctx.sandbox, path)
        text, notebook = _parsed(path, before)
        await require_seen(ctx, path, target, before.stat)
        edit = _Edit(path, notebook, action, source, cell_type, ctx.plugin.new_id())
        changed, told = edit.apply(text.removeprefix(_MARK), cell)
        mark = _MARK if text.startswith(_MARK) else ""
        after = Content(encoded(mark + changed, "source"))
        change = FileChange(path, target, before, after)
        notes = await change_files(ctx, [change], tool="notebook_edit", known=[target])
    facts = {"path": path, "action": action, **edit.facts}
    return ToolResult(
        output=told + "".join(f"\n[{note}]" for note in (*recovered, *notes)),
        structured=facts,
        details={**facts, "diff": unified_diff(path, text, mark + changed)},
    )


def _parsed(path: str, before: Content) -> tuple[str, Notebook]:
    if not before.whole or len(before.data) > MAX_BYTES:
        raise ToolFailure(
            f"{shown(path)} is too large to be edited; up to {size_text(MAX_BYTES)} are.",
            fix="Clear the outputs of its cells.",
            code="too_large",
        )
    notebook = parse_notebook(path, before.data)
    return before.data.decode(), notebook


class _Edit:
    """One change of a notebook."""

    def __init__(
        self,
        path: str,
        notebook: Notebook,
        action: Action,
        source: str | None,
        cell_type: CellType | None,
        new_id: str,
    ) -> None:
        self.facts: dict[str, Any] = {}
        self._path = path
        self._notebook = notebook
        self._action = action
        self._source = source
        self._type = cell_type
        self._new_id = new_id

    def apply(self, text: str, cell: str | int | None) -> tuple[str, str]:
        """Return the changed text of the file, and what was done in a sentence."""
        if self._source is None and self._action != "delete":
            raise _bad("`source` is missing.", "Give the whole new source of the cell.")
        if self._action == "insert":
            place = 0 if cell is None else self._place(cell) + 1
            text = with_cell_inserted(text, place, self._new_cell())
        else:
            if cell is None:
                raise _bad("`cell` is missing.", "Name the cell by its identifier or number.")
            place = self._place(cell)
            delete = self._action == "delete"
            text = without_cell(text, place) if delete else self._replaced(text, place)
        self.facts |= {"cell": place, "cells": self._count()}
        return text, f"{_DONE[self._action]} cell {place} of {shown(self._path)}{self._cleared()}."

    def _count(self) -> int:
        return len(self._notebook.cells) + {"insert": 1, "delete": -1, "replace": 0}[self._action]

    def _cleared(self) -> str:
        return "; its outputs were cleared" if self.facts.get("outputs_cleared") else ""

    def _place(self, cell: str | int) -> int:
        cells = self._notebook.cells
        for place, found in enumerate(cells):
            if found.get("id") == cell:
                return place
        by_place = _BY_PLACE.fullmatch(str(cell).strip())
        place = int(by_place[1]) if by_place else -1
        if 0 <= place < len(cells):
            return place
        names = [str(found["id"]) for found in cells if isinstance(found.get("id"), str)]
        known = f"; their identifiers: {', '.join(names[:20])}" if names else ""
        raise ToolFailure(
            f"{shown(self._path)} has no cell {str(cell)[:80]!r}; it has "
            f"{plural(len(cells), 'cell')}, numbered from 0{known}.",
            fix="Use file_read to see the cells.",
            code="no_such_cell",
        )

    def _replaced(self, text: str, place: int) -> str:
        old = self._notebook.cells[place]
        kind = self._type or old.get("cell_type", "code")
        source = self._source or ""
        if source == source_text(old) and kind == old.get("cell_type"):
            raise ToolFailure(
                f"Cell {place} of {shown(self._path)} has this source already.",
                fix="Nothing is left to do.",
                code="no_change",
            )
        self.facts["outputs_cleared"] = bool(old.get("outputs"))
        new = {**old, "cell_type": kind, "source": self._written(old)}
        if kind == "code":
            new |= {"execution_count": None, "outputs": []}
        else:
            new.pop("execution_count", None)
            new.pop("outputs", None)
        return with_cell_replaced(text, place, new)

    def _new_cell(self) -> dict[str, Any]:
        kind = self._type or "code"
        cell: dict[str, Any] = {"cell_type": kind}
        if kind == "code":
            cell["execution_count"] = None
        if self._notebook.has_ids:
            cell["id"] = self.facts["id"] = self._new_id[-16:]
        cell["metadata"] = {}
        if kind == "code":
            cell["outputs"] = []
        cells = self._notebook.cells
        cell["source"] = self._written(cells[0] if cells else {})
        return cell

    def _written(self, like: dict[str, Any]) -> str | list[str]:
        """Return the source as a text where the file has texts, else as lines."""
        source = self._source or ""
        if isinstance(like.get("source"), str):
            return source
        return re.findall(r"[^\n]*\n|[^\n]+", source)


def _bad(message: str, fix: str) -> ToolFailure:
    return ToolFailure(message, fix=fix, code="invalid_arguments")
