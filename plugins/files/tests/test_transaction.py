from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from pegboard_files.file_change import Content, FileChange
from pegboard_files.transaction import RollbackFailed, Transaction

from pegboard import SandboxError, SandboxSpec, ToolFailure
from pegboard.contracts.effects import ALL_EFFECTS
from pegboard.sandboxes import GrantTable, SandboxFiles

pytestmark = pytest.mark.anyio


class Disturbed(SandboxFiles):
    """Real files, among which something happens before a write."""

    happens: dict[str, Callable[[], None]]

    async def write(self, path: str, data: bytes, **options: bool) -> None:
        self.happens.get(Path(path).name, lambda: None)()
        await super().write(path, data, **options)


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Disturbed]:
    folder = tmp_path / "work"
    folder.mkdir()
    for name in "abc":
        (folder / name).write_text(f"{name}\n")
    table = GrantTable.open(SandboxSpec(workspace=folder), home=tmp_path)
    disturbed = Disturbed(table, ALL_EFFECTS)
    disturbed.happens = {}
    yield disturbed
    table.close()


async def changes(files: Disturbed, folder: Path) -> list[FileChange]:
    found = []
    for name in "abc":
        target = str(folder / name)
        before = Content(await files.read(target), stat=await files.stat(target))
        found.append(FileChange(name, target, before, Content(b"new\n")))
    return found


def held(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


OLD = {"a": "a\n", "b": "b\n", "c": "c\n"}


async def test_all_is_changed(files: Disturbed, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    await Transaction(files, "t").apply(await changes(files, folder))
    assert held(folder) == dict.fromkeys("abc", "new\n")


async def test_what_somebody_changed_in_between_is_not_overwritten(
    files: Disturbed, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    planned = await changes(files, folder)
    (folder / "c").write_text("somebody\n")
    with pytest.raises(ToolFailure, match="c was changed by somebody else"):
        await Transaction(files, "t").apply(planned)
    assert held(folder) == {**OLD, "c": "somebody\n"}


async def test_a_call_that_is_cancelled_takes_back_what_it_did(
    files: Disturbed, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    planned = await changes(files, folder)
    with anyio.CancelScope() as scope:
        files.happens["b"] = scope.cancel
        await Transaction(files, "t").apply(planned)
    assert scope.cancelled_caught
    assert held(folder) == OLD


async def test_what_can_not_be_taken_back_is_named(files: Disturbed, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    planned = await changes(files, folder)

    def break_all() -> None:
        (folder / "a").unlink()
        (folder / "a").mkdir()
        (folder / "c").unlink()
        (folder / "c").mkdir()

    files.happens["c"] = break_all
    with pytest.raises(RollbackFailed) as caught:
        await Transaction(files, "t").apply(planned)
    assert "- a: " in caught.value.message
    assert "- b: " not in caught.value.message
    assert "pegboard undo" in (caught.value.fix or "")
    assert (folder / "b").read_text() == "b\n"


async def test_a_name_outside_is_refused_and_what_was_done_is_taken_back(
    files: Disturbed, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    planned = await changes(files, folder)
    outside = FileChange("x", str(tmp_path / "x"), None, Content(b"x"))
    with pytest.raises(SandboxError):
        await Transaction(files, "t").apply([*planned[:2], outside])
    assert held(folder) == OLD
    assert not (tmp_path / "x").exists()


async def test_files_that_are_put_aside_go_all_also_when_the_call_is_cancelled_then(
    files: Disturbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of them is gone for good by then: there is no way back any more."""
    folder = tmp_path / "work"
    gone = [replace(change, after=None) for change in await changes(files, folder)]
    remove = files.remove
    with anyio.CancelScope() as scope:

        async def remove_and_cancel(path: str) -> None:
            await remove(path)
            scope.cancel()

        monkeypatch.setattr(files, "remove", remove_and_cancel)
        await Transaction(files, "t").apply(gone)
    assert held(folder) == {}
