"""What a patch makes of the files it names, all of it before any is written. Pure.

The operations are done one after another on the files' contents in memory, so that one may build on
another; what counts in the end is how each file differs from what it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from pegboard import ToolFailure
from pegboard_files.editable import Editable, editable, presentable
from pegboard_files.file_change import Content, FileChange
from pegboard_files.names import shown
from pegboard_files.patch_apply import Applied, ChunkError, apply_chunks
from pegboard_files.patch_format import AddFile, DeleteFile, Operation, UpdateFile
from pegboard_files.text_format import encoded

ChangeKind = Literal["added", "modified", "deleted", "renamed"]
LETTERS: Final[Mapping[ChangeKind, str]] = {
    "added": "A",
    "modified": "M",
    "deleted": "D",
    "renamed": "R",
}


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that a patch names, as it is.

    Args:
        path: As it is shown.
        target: Its absolute path; two names of one file have the same.
        content: What it holds, or None when there is no file.
        link: True when the path is a link to it.
    """

    path: str
    target: str
    content: Content | None
    link: bool = False


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What becomes of one file.

    Args:
        change: The contents before and after.
        kind: What that is.
        moved_from: Path that the file had, or None.
        added, removed: Lines.
        notes: What was overlooked to find a place.
    """

    change: FileChange
    kind: ChangeKind
    moved_from: str | None
    added: int
    removed: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A file while the operations are done."""

    content: Content
    origin: str
    added: int = 0
    removed: int = 0
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Desk:
    named: Mapping[str, NamedFile]
    drafts: dict[str, _Draft | None] = field(default_factory=dict)

    def draft(self, path: str) -> _Draft | None:
        return self.drafts[self.named[path].target]

    def put(self, path: str, draft: _Draft | None) -> None:
        self.drafts[self.named[path].target] = draft


def plan_patch(
    operations: Sequence[Operation], named: Mapping[str, NamedFile]
) -> tuple[PlannedChange, ...]:
    """Return what a patch makes of its files, sorted by path.

    Args:
        operations: What the patch does.
        named: Each path of the patch, as it is written there, and the file that it means.

    Raises:
        ToolFailure: When an operation can't be done; the message names file, chunk and line.
    """
    desk = _Desk(named)
    for file in named.values():
        content = file.content
        desk.drafts[file.target] = None if content is None else _Draft(content, file.target)
    for operation in operations:
        if isinstance(operation, AddFile):
            _add(desk, operation)
        elif isinstance(operation, DeleteFile):
            _present(desk, operation.path, operation.line)
            _no_link(desk, operation.path, operation.line)
            desk.put(operation.path, None)
        else:
            _update(desk, operation)
    return tuple(_changes(desk))


def paths_of(operations: Sequence[Operation]) -> tuple[str, ...]:
    """Return every path that a patch names, once, in its order."""
    paths: dict[str, None] = {}
    for operation in operations:
        paths[operation.path] = None
        if isinstance(operation, UpdateFile) and operation.move_to is not None:
            paths[operation.move_to] = None
    return tuple(paths)


def _add(desk: _Desk, operation: AddFile) -> None:
    _absent(desk, operation.path, operation.line, "Use `*** Update File:` to change it.")
    text = "".join(f"{line}\n" for line in operation.lines)
    content = Content(encoded(text, f"new file {operation.path}"))
    target = desk.named[operation.path].target
    desk.put(operation.path, _Draft(content, target, added=len(operation.lines)))


def _update(desk: _Desk, operation: UpdateFile) -> None:
    path, move_to = operation.path, operation.move_to
    draft = _present(desk, path, operation.line)
    if operation.chunks:
        draft = _changed(path, draft, operation)
    if move_to is None or desk.named[move_to].target == desk.named[path].target:
        desk.put(path, draft)
        return
    _no_link(desk, path, operation.line)
    _absent(desk, move_to, operation.line + 1, "Choose another name, or delete that file before.")
    desk.put(path, None)
    desk.put(move_to, draft)


def _changed(path: str, draft: _Draft, operation: UpdateFile) -> _Draft:
    how, applied = _applied(path, editable(path, draft.content.data), operation)
    data = how.encoded(path, applied.text, "\n".join(applied.inserted))
    return replace(
        draft,
        content=Content(data) if data != draft.content.data else draft.content,
        added=draft.added + len(applied.inserted),
        removed=draft.removed + applied.removed,
        notes=(*draft.notes, *applied.notes),
    )


def _applied(
    path: str, readings: Sequence[Editable], operation: UpdateFile
) -> tuple[Editable, Applied]:
    """Apply chunks to the first reading of a file that they fit."""
    first: ChunkError | None = None
    for how in readings:
        try:
            return how, apply_chunks(how.text, operation.chunks)
        except ChunkError as error:
            first = first or error
    assert first is not None
    raise ToolFailure(
        presentable(
            f"{shown(path)}, chunk {first.chunk} (line {first.line} of the patch): {first.message}"
        ),
        fix=f"{first.fix} No file was changed.",
        code=first.code,
        path=path,
        chunk=first.chunk,
        line=first.line,
    )


def _present(desk: _Desk, path: str, line: int) -> _Draft:
    draft = desk.draft(path)
    if draft is None:
        raise MissingFile(path, line, desk.named[path].content is not None)
    return draft


class MissingFile(ToolFailure):
    """A file that the patch changes or deletes is not there.

    Args:
        path: Its path.
        line: Number of the line in the patch.
        taken: True when an earlier operation of the patch took it away.
    """

    def __init__(self, path: str, line: int, taken: bool) -> None:
        why = "was taken away by the patch itself before" if taken else "does not exist"
        super().__init__(
            f"{shown(path)} (line {line} of the patch) {why}.",
            fix="Use `*** Add File:` for a new file. No file was changed.",
            code="not_found",
            path=path,
            line=line,
        )
        self.path = path
        self.taken = taken


def _no_link(desk: _Desk, path: str, line: int) -> None:
    if desk.named[path].link:
        raise ToolFailure(
            f"{shown(path)} (line {line} of the patch) is a link, which a patch does not move or "
            "delete.",
            fix=f"Name the file that it leads to: {shown(desk.named[path].target)}. "
            "No file was changed.",
            code="is_a_link",
            path=path,
            line=line,
        )


def _absent(desk: _Desk, path: str, line: int, fix: str) -> None:
    if desk.draft(path) is not None:
        raise ToolFailure(
            f"{shown(path)} (line {line} of the patch) exists already.",
            fix=f"{fix} No file was changed.",
            code="exists",
            path=path,
            line=line,
        )


def _changes(desk: _Desk) -> list[PlannedChange]:
    files = {file.target: file for file in desk.named.values()}
    sources = _sources(desk, files)
    planned: list[PlannedChange] = []
    for target, file in sorted(files.items(), key=lambda item: item[1].path):
        draft, before = desk.drafts[target], file.content
        after = None if draft is None else draft.content
        if after is before or (after and before and after.data == before.data):
            continue
        if target in sources.values():
            continue  # told by the file that it became
        source = sources.get(target)
        planned.append(
            PlannedChange(
                FileChange(
                    file.path,
                    target,
                    before,
                    after,
                    moved_from=source,
                    source=files[source].content if source else None,
                ),
                _kind(before, after, source),
                files[source].path if source else None,
                draft.added if draft else 0,
                draft.removed if draft else 0,
                draft.notes if draft else (),
            )
        )
    return planned


def _sources(desk: _Desk, files: Mapping[str, NamedFile]) -> dict[str, str]:
    """Return for each file that another one became the one that it was."""
    return {
        target: draft.origin
        for target, draft in desk.drafts.items()
        if draft is not None
        and draft.origin != target
        and files[target].content is None
        and desk.drafts[draft.origin] is None
    }


def _kind(before: Content | None, after: Content | None, source: str | None) -> ChangeKind:
    if source is not None:
        return "renamed"
    if before is None:
        return "added"
    return "deleted" if after is None else "modified"
