"""What a process left in the middle of a change, as far as nobody has changed it since."""

from __future__ import annotations

import hashlib
import zlib

import pytest
from pegboard_files.history_tables import opened
from pegboard_files.journal import Journal

from pegboard.store.plugin_storage import PluginStorage
from pegboard.testing import FakeClock

pytestmark = pytest.mark.anyio
OLD, NEW = "old\n", "new\n"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
async def tables(desk):
    folder = desk.running.host.config.paths.plugin_storage("files")
    storage = PluginStorage("files", folder, FakeClock())
    found = await opened(storage)
    packed = zlib.compress(OLD.encode())
    await found.execute("INSERT INTO content VALUES (?, ?, ?)", (digest(OLD), packed, len(packed)))
    yield found
    await storage.aclose()


async def left(desk, tables, *steps, committed=False, token="t1"):
    """Write a change down whose process has died."""
    await tables.execute(
        "INSERT INTO journal VALUES (?, ?, '[]', ?)", (token, str(desk.folder), int(committed))
    )
    for number, step in enumerate(steps):
        row = {"moved_from": None, "made": None, "before": OLD, "after": NEW, "aside": None, **step}
        await tables.execute(
            "INSERT INTO step VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(token, number, row["path"], str(desk.folder / row["path"])),
                row["moved_from"] and str(desk.folder / row["moved_from"]),
                row["made"] and str(desk.folder / row["made"]),
                row["before"] and digest(row["before"]),
                row["after"] and digest(row["after"]),
                row["aside"] and str(desk.folder / row["aside"]),
            ),
        )


def held(desk) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(desk.folder.iterdir())}


async def pending(tables) -> int:
    ((count,),) = await tables.query("SELECT count(*) FROM journal")
    return count


@pytest.mark.parametrize(
    ("step", "there", "after", "says"),
    [
        ({"path": "a"}, {"a": NEW}, {"a": OLD}, "taken back now"),
        ({"path": "a"}, {"a": OLD}, {"a": OLD}, "taken back now"),
        ({"path": "a"}, {"a": "mine\n"}, {"a": "mine\n"}, "a was left as it is: somebody changed"),
        ({"path": "a"}, {}, {}, "somebody changed"),
        ({"path": "a", "before": None}, {"a": NEW}, {}, "taken back now"),
        ({"path": "a", "before": None}, {}, {}, "taken back now"),
        ({"path": "a", "before": None}, {"a": "mine\n"}, {"a": "mine\n"}, "somebody changed"),
        ({"path": "a", "after": None, "aside": ".p"}, {".p": OLD}, {"a": OLD}, "taken back now"),
        ({"path": "a", "after": None, "aside": ".p"}, {"a": OLD}, {"a": OLD}, "taken back now"),
        (
            {"path": "a", "after": None, "aside": ".p"},
            {"a": "mine\n", ".p": OLD},
            {"a": "mine\n", ".p": OLD},
            "what it held is in .p",
        ),
        ({"path": "b", "moved_from": "a"}, {"b": NEW}, {"a": OLD}, "taken back now"),
        ({"path": "b", "moved_from": "a"}, {"b": OLD}, {"a": OLD}, "taken back now"),
        ({"path": "b", "moved_from": "a"}, {"a": OLD}, {"a": OLD}, "taken back now"),
        (
            {"path": "b", "moved_from": "a"},
            {"a": "mine\n", "b": NEW},
            {"a": "mine\n", "b": NEW},
            "there is a new a",
        ),
        ({"path": "a", "before": "lost\n"}, {"a": NEW}, {"a": NEW}, "too large to be kept"),
        ({"path": "a"}, {"a": OLD, ".a.0123456789ab.tmp": "x"}, {"a": OLD}, "taken back now"),
        ({"path": "a"}, {"a": OLD, ".b.0123456789ab.tmp": "x"}, None, "taken back now"),
    ],
)
async def test_one_file_of_a_change(desk, tables, step, there, after, says) -> None:
    for name, text in there.items():
        desk.put(name, text)
    await left(desk, tables, step)
    result = await desk.ok("undo_changes")
    assert held(desk) == (there if after is None else after)
    assert says in result.text.replace(f"{desk.folder}/", "")
    assert await pending(tables) == 0
    assert "interrupted" not in (await desk.ok("undo_changes")).text


async def test_behind_the_point_of_no_return_it_is_done_to_its_end(desk, tables) -> None:
    desk.put("a", NEW)
    desk.put(".p", OLD)
    gone = {"path": "b", "after": None, "aside": ".p"}
    await left(desk, tables, {"path": "a"}, gone, committed=True)
    result = await desk.ok("file_write", path="c", content="c\n")
    assert "a change of a, b was interrupted; it was done to its end now" in result.text
    assert held(desk) == {"a": NEW, "c": "c\n"}


async def test_a_change_of_another_folder_or_one_under_way_is_left_alone(desk, tables) -> None:
    desk.put("a", NEW)
    await left(desk, tables, {"path": "a"})
    await left(desk, tables, {"path": "a"}, token="t2")
    await tables.execute("UPDATE journal SET workspace = '/elsewhere' WHERE token = 't2'")
    context = await desk.running.host.activate("files")
    with Journal(context.context).held("t1"):
        assert "interrupted" not in (await desk.ok("undo_changes")).text
    assert held(desk) == {"a": NEW}
    assert await pending(tables) == 2


async def test_what_can_not_be_taken_back_now_is_tried_again(desk, tables) -> None:
    path = desk.put("a", NEW)
    await left(desk, tables, {"path": "a"})
    path.unlink()
    path.mkdir()
    result = await desk.ok("undo_changes")
    assert "could not be taken back now" in result.text
    assert await pending(tables) == 1
    path.rmdir()
    path.write_text(NEW)
    assert "taken back now" in (await desk.ok("undo_changes")).text
    assert path.read_text() == OLD


async def test_who_reads_a_file_of_an_interrupted_change_is_told(desk, tables) -> None:
    desk.put("a", NEW)
    desk.put("b", OLD)
    await left(desk, tables, {"path": "a"})
    for tool, named in (("file_read", {"path": "a"}), ("read_many_files", {"paths": ["a", "b"]})):
        assert "[a change of a was interrupted" in (await desk.ok(tool, **named)).text
    assert "interrupted" not in (await desk.ok("file_read", path="b")).text
    await desk.ok("undo_changes")
    assert "interrupted" not in (await desk.ok("file_read", path="a")).text


async def test_what_others_did_under_ids_of_erased_rows_is_kept(desk, tables) -> None:
    """Rows of a change that died may be erased before it is taken back, and their ids be used."""
    desk.put("a", NEW)
    await left(desk, tables, {"path": "a"})
    await tables.execute("UPDATE journal SET history = '[1, 2]'")
    for id, workspace in ((1, "/elsewhere"), (2, str(desk.folder))):
        await tables.execute(
            "INSERT INTO change(id, run, call, conversation, tool, workspace, at, path, existed) "
            "VALUES (?, 'r', 'c', '', 't', ?, 2e9, 'x', 0)",
            (id, workspace),
        )
    assert "taken back now" in (await desk.ok("undo_changes")).text
    assert await tables.query("SELECT id FROM change") == [(1,)]


async def test_a_folder_that_is_one_no_more_is_in_no_ones_way(desk, tables) -> None:
    desk.put("made", "a file now\n")
    await left(desk, tables, {"path": "made/b", "made": "made", "before": None, "after": None})
    await desk.ok("undo_changes")
    assert held(desk) == {"made": "a file now\n"}


async def test_what_was_taken_back_is_told_also_where_a_run_is_named(desk, tables) -> None:
    await desk.ok("file_write", path="c", content="c\n")
    (run,) = (await desk.ok("undo_changes")).structured["runs"]
    desk.put("a", NEW)
    await left(desk, tables, {"path": "a", "before": None})
    result = await desk.ok("undo_changes", run=run["run"])
    assert "[a change of a was interrupted; it was taken back now]" in result.text
    assert held(desk) == {}
