from __future__ import annotations

import json
from typing import Any

import pytest
from pegboard_files.notebook_file import (
    find_cells,
    with_cell_inserted,
    with_cell_replaced,
    without_cell,
)

pytestmark = pytest.mark.anyio

CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title\n", "é"]},
    {
        "cell_type": "code",
        "execution_count": 3,
        "id": "b3",
        "metadata": {"z": 1, "a": 2},
        "outputs": [
            {"name": "stdout", "output_type": "stream", "text": ["one\n", "two\n"]},
            {
                "data": {"image/png": "aGVsbG8=" * 100, "text/plain": ["<Figure>"]},
                "metadata": {},
                "output_type": "display_data",
            },
            {"ename": "E", "evalue": "bad", "output_type": "error", "traceback": ["Trace", "bad"]},
        ],
        "source": ["x = 1\n", "print(x)"],
    },
]
BOOK = {"cells": CELLS, "metadata": {"k": 1.50}, "nbformat": 4, "nbformat_minor": 5}


def written(indent: int | None = 1, *, cells: Any = None, ascii: bool = False) -> str:
    book = {**BOOK, "cells": CELLS if cells is None else cells}
    return json.dumps(book, indent=indent, ensure_ascii=ascii) + "\n"


async def test_cells_are_read_with_their_outputs(desk) -> None:
    desk.put("a.ipynb", written())
    result = await desk.ok("file_read", path="a.ipynb")
    lines = [line.partition("\t")[2] for line in result.text.split("\n")]
    assert lines == [
        "=== cell 0 [markdown] id=intro ===",
        "# Title",
        "é",
        "=== cell 1 [code] id=b3 In [3] ===",
        "x = 1",
        "print(x)",
        "--- output ---",
        "one",
        "two",
        "--- output ---",
        "<Figure>",
        "[image/png, 800 B]",
        "--- output ---",
        "Trace",
        "bad",
    ]
    page = await desk.ok("file_read", path="a.ipynb", offset=5, limit=2)
    assert page.structured["lines"] == ["x = 1", "print(x)"]
    assert page.structured["next_offset"] == 7


async def test_what_is_no_notebook_is_read_as_text(desk) -> None:
    desk.put("a.ipynb", '{"worksheets": []}\n')
    assert '{"worksheets"' in (await desk.ok("file_read", path="a.ipynb")).text
    error = await desk.error("notebook_edit", path="a.ipynb", cell=0, source="x")
    assert error.code == "no_notebook"


@pytest.mark.parametrize("cell", [1, "1", "b3", "cell-1"])
async def test_a_cell_is_replaced_and_loses_its_outputs(desk, cell) -> None:
    file = desk.put("a.ipynb", written())
    result = await desk.ok("notebook_edit", path="a.ipynb", cell=cell, source="y = 2\ny")
    assert result.text == "Replaced cell 1 of a.ipynb; its outputs were cleared."
    changed = {**CELLS[1], "execution_count": None, "outputs": [], "source": ["y = 2\n", "y"]}
    assert file.read_text() == written(cells=[CELLS[0], changed])
    assert '+    "y = 2\\n",' in result.details["diff"]


async def test_cells_are_inserted_and_deleted(desk) -> None:
    file = desk.put("a.ipynb", written())
    result = await desk.ok(
        "notebook_edit",
        path="a.ipynb",
        cell="intro",
        action="insert",
        source="## Next",
        cell_type="markdown",
    )
    new = json.loads(file.read_text())["cells"][1]
    assert new["id"] == result.structured["id"]
    assert (new["cell_type"], new["source"]) == ("markdown", ["## Next"])
    assert file.read_text() == written(cells=[CELLS[0], new, CELLS[1]])
    await desk.ok("notebook_edit", path="a.ipynb", action="insert", source="import os")
    first = json.loads(file.read_text())["cells"][0]
    assert list(first) == ["cell_type", "execution_count", "id", "metadata", "outputs", "source"]
    await desk.ok("notebook_edit", path="a.ipynb", cell=0, action="delete")
    await desk.ok("notebook_edit", path="a.ipynb", cell=1, action="delete")
    assert file.read_text() == written()


async def test_a_cell_becomes_of_another_kind(desk) -> None:
    file = desk.put("a.ipynb", written())
    await desk.ok("notebook_edit", path="a.ipynb", cell=1, source="text", cell_type="markdown")
    cell = json.loads(file.read_text())["cells"][1]
    assert set(cell) == {"cell_type", "id", "metadata", "source"}


async def test_what_makes_no_sense_is_refused(desk) -> None:
    file = desk.put("a.ipynb", written())
    for arguments, code in (
        ({"cell": 2, "source": "x"}, "no_such_cell"),
        ({"cell": "gone", "source": "x"}, "no_such_cell"),
        ({"cell": -1, "source": "x"}, "no_such_cell"),
        ({"source": "x"}, "invalid_arguments"),
        ({"cell": 0}, "invalid_arguments"),
        ({"cell": 1, "source": "x = 1\nprint(x)"}, "no_change"),
    ):
        assert (await desk.error("notebook_edit", path="a.ipynb", **arguments)).code == code
    assert (await desk.error("notebook_edit", path="b.ipynb", cell=0, source="x")).code == (
        "not_found"
    )
    assert file.read_text() == written()


@pytest.mark.parametrize("indent", [None, 1, 2, "\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("ascii", [True, False])
def test_what_is_not_changed_stays_as_it_is(indent, line_end: str, ascii: bool) -> None:
    def text(cells: list[Any]) -> str:
        return written(indent, cells=cells, ascii=ascii).replace("\n", line_end)

    one, two = CELLS
    new = {"cell_type": "raw", "metadata": {}, "source": ["new é" if not ascii else "new"]}
    assert with_cell_replaced(text([one, two]), 1, new) == text([one, new])
    assert with_cell_inserted(text([one, two]), 0, new) == text([new, one, two])
    assert with_cell_inserted(text([one, two]), 1, new) == text([one, new, two])
    assert with_cell_inserted(text([one, two]), 2, new) == text([one, two, new])
    assert without_cell(text([one, two]), 0) == text([two])
    assert without_cell(text([one, two]), 1) == text([one])
    assert without_cell(text([one]), 0) == text([])
    if ascii is False:
        assert with_cell_inserted(text([]), 0, one) == text([one])


def test_odd_layouts_keep_all_around_a_cell() -> None:
    text = '\n{ "a" : [ ] ,"cells":[\n{"source" : "x"}  ,  {"source":"y"} ]\t, "n": 1.0e3 }  '
    assert with_cell_replaced(text, 0, {"s": 1}) == text.replace('{"source" : "x"}', '{"s": 1}')
    assert without_cell(text, 0) == text.replace('{"source" : "x"}  ,  ', "")
    for bad in ("[]", "{}", '{"cells": 1}', '{"cells": [', ""):
        with pytest.raises((ValueError, IndexError)):
            find_cells(bad)
