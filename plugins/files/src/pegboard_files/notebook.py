"""Jupyter notebooks: their cells, as text and as what they are in the file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pegboard import ToolFailure
from pegboard_files.names import shown, size_text

MAX_BYTES: Final = 32 << 20
OUTPUT_CHARS: Final = 4_000
"""Characters of one output of a cell that are shown."""


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook as its file holds it.

    Args:
        data: The JSON object.
        cells: Its cells; the list in `data`.
    """

    data: dict[str, Any]
    cells: list[dict[str, Any]]

    @property
    def has_ids(self) -> bool:
        """Whether cells have identifiers, as they have from version 4.5 of the format on."""
        major, minor = self.data.get("nbformat"), self.data.get("nbformat_minor")
        whole = isinstance(major, int) and isinstance(minor, int)
        return whole and (major, minor) >= (4, 5)

    def text(self) -> str:
        """Return all cells with their outputs as a model reads them."""
        return "\n".join(
            line for place, cell in enumerate(self.cells) for line in _told(place, cell)
        )


def parse_notebook(path: str, data: bytes) -> Notebook:
    """Return the notebook that a file holds.

    Raises:
        ToolFailure: When it is none, or of a version before 4.
    """
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise _none(path, f"it is no JSON: {error}") from error
    cells = found.get("cells") if isinstance(found, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise _none(path, "it has no list of cells, as version 4 of the format has")
    return Notebook(found, cells)


def source_text(cell: Mapping[str, Any]) -> str:
    """Return the source of a cell, which a file holds as a text or as lines."""
    return _joined(cell.get("source"))


def _none(path: str, why: str) -> ToolFailure:
    return ToolFailure(
        f"{shown(path)} is no notebook: {why}.",
        fix="Use content_search to look at it as text.",
        code="no_notebook",
    )


def _joined(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _told(place: int, cell: Mapping[str, Any]) -> Iterator[str]:
    kind, name = cell.get("cell_type", "?"), cell.get("id")
    count = cell.get("execution_count")
    yield (
        f"=== cell {place} [{kind}]"
        + (f" id={name}" if isinstance(name, str) else "")
        + (f" In [{count}]" if isinstance(count, int) else "")
        + " ==="
    )
    yield source_text(cell).removesuffix("\n")
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            yield "--- output ---"
            yield _output_text(output).removesuffix("\n")


def _output_text(output: Mapping[str, Any]) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        return _clipped(_joined(output.get("text")))
    if kind == "error":
        trace = output.get("traceback")
        lines = trace if isinstance(trace, list) and trace else [output.get("evalue", "")]
        return _clipped("\n".join(str(line) for line in lines))
    data = output.get("data")
    return "\n".join(_media(data)) if isinstance(data, dict) else f"[{kind}]"


def _media(data: Mapping[str, Any]) -> Iterator[str]:
    plain = data.get("text/plain")
    if plain is not None:
        yield _clipped(_joined(plain))
    for name, value in data.items():
        if name != "text/plain":
            size = len(_joined(value)) or len(json.dumps(value))
            yield f"[{name}, {size_text(size)}]"


def _clipped(text: str) -> str:
    if len(text) <= OUTPUT_CHARS:
        return text
    half = OUTPUT_CHARS // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters …]\n{text[-half:]}"
