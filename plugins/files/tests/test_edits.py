"""Several edits in one call, names that models use, and files that were not read."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pegboard_files.edit import Overlapping, Replacement, replace_texts
from pegboard_files.editable import editable

from pegboard import Plugin
from pegboard.contracts.hook_events import ToolResultEvent
from pegboard.testing import Call, ScriptedModel

PLUGINS = ("files", "sandbox-local")


def edits(*pairs: tuple[str, str], **more) -> list[dict[str, object]]:
    return [{"old_string": old, "new_string": new, **more} for old, new in pairs]


@pytest.mark.anyio
async def test_several_edits_are_made_on_the_file_as_it_was(desk) -> None:
    path = desk.put("f", "a\r\nb\r\nc\r\n")
    result = await desk.ok("file_edit", path="f", edits=edits(("c", "a\nA"), ("a", "c"), ("b", "")))
    assert path.read_bytes() == b"c\r\n\r\na\r\nA\r\n"
    assert result.structured["lines"] == [1, 2, 3]
    assert result.structured["replacements"] == 3


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        (edits(("a", "x"), ("zz", "y")), "no_match", "old_string of edit 2 is not in f"),
        (edits(("a", "x"), ("b", "y")), "several_matches", "old_string of edit 2 is in f 2 times"),
        (edits(("a b", "x"), ("b c", "y")), "overlapping_edits", "Edits 1 and 2 want the same"),
        (edits(("a", "x"), ("a", "y")), "overlapping_edits", "line 1"),
        (edits(("a", "x"), ("c", "c")), "no_change", "of edit 2"),
    ],
)
async def test_of_several_edits_all_are_made_or_none(desk, given, code: str, words: str) -> None:
    path = desk.put("f", "a b c\nb\n")
    error = await desk.error("file_edit", path="f", edits=given)
    assert error.code == code
    assert words in error.message
    assert path.read_text() == "a b c\nb\n"


@pytest.mark.anyio
async def test_one_edit_or_several_and_not_both(desk) -> None:
    desk.put("f", "a\n")
    both = {"old_string": "a", "new_string": "b", "edits": edits(("a", "b"))}
    for wrong in (both, {}, {"old_string": "a"}, {"new_string": "a"}, {"edits": []}):
        assert (await desk.error("file_edit", path="f", **wrong)).code == "invalid_arguments"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("file_edit", {"file_path": "f", "old_str": "a", "new_str": "b"}),
        ("edit", {"filePath": "f", "oldText": "a", "newText": "b", "replaceAll": True}),
        ("str_replace", {"filename": "f", "old_text": "a", "new_text": "b"}),
        ("replace_in_file", {"path": "f", "edits": [{"search": "a", "replace": "b"}]}),
        ("edit_file", {"file_path": "f", "changes": [{"oldString": "a", "newString": "b"}]}),
        ("edit", {"path": "f", "edits": json.dumps([{"oldText": "a", "newText": "b"}])}),
        ("write", {"file_path": "f", "contents": "b\n"}),
        ("write_file", {"filename": "f", "text": "b\n"}),
        ("create_file", {"filePath": "f", "file_text": "b\n"}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: f\n-a\n+b\n*** End Patch"}),
    ],
)
async def test_the_names_that_models_use_are_taken_and_told(desk, tool: str, given) -> None:
    path = desk.put("f", "a\n")
    result = await desk.running.call(tool, **given)
    assert result.error is None, result.error
    assert path.read_text() == "b\n"
    assert result.details["repairs"]


@pytest.mark.anyio
async def test_two_names_for_one_argument_are_refused(desk) -> None:
    desk.put("f", "a\n")
    error = await desk.error("file_edit", path="f", file_path="g", old_string="a", new_string="b")
    assert error.code == "invalid_arguments"
    assert "file_path" in error.message


@pytest.mark.anyio
async def test_a_new_file_is_only_new(desk) -> None:
    await desk.ok("file_write", path="f", content="a", must_be_new=True)
    error = await desk.error("file_write", path="f", content="b", must_be_new=True)
    assert error.code == "exists"
    assert (desk.folder / "f").read_text() == "a"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("calls", "codes"),
    [
        ([Call("file_write", path="f", content="x")], ["not_read"]),
        ([Call("file_write", path="new", content="x")], [None]),
        (
            [Call("file_read", path="f"), Call("file_write", path="./f", content="x")],
            [None, None],
        ),
        (
            [Call("read_many_files", paths=["f"]), Call("file_write", path="f", content="x")],
            [None, None],
        ),
        (
            [
                Call("file_write", path="new", content="x"),
                Call("file_write", path="new", content="y"),
            ],
            [None, None],
        ),
        (
            [
                Call("file_edit", path="f", old_string="a", new_string="b"),
                Call("file_write", path="f", content="x"),
            ],
            [None, "not_read"],
        ),
        (
            [
                Call("file_read", path="f"),
                Call("file_edit", path="f", old_string="a", new_string="b"),
                Call("file_write", path="f", content="x"),
            ],
            [None, None, None],
        ),
        (
            [
                Call("file_read", path="f"),
                Call("touched", path="f"),
                Call("file_write", path="f", content="x"),
                Call("file_read", path="f"),
                Call("file_write", path="f", content="x"),
            ],
            [None, None, "stale", None, None],
        ),
    ],
)
async def test_a_model_does_not_overwrite_what_it_has_not_read(host, calls, codes) -> None:
    person = Plugin(summary="Somebody else")

    @person.tool(effects={"fs_write"})
    def touched(path: str) -> str:
        """Change a file behind the model's back."""
        (host.workspace / path).write_text("somebody else\n")
        return "done"

    (host.workspace / "f").write_text("a\n")
    model = ScriptedModel([*calls, "done"])
    async with host(*PLUGINS, model=model, inline={"person": person}) as running:
        await running.ask("work")
        results = [event.result for event in running.recorder.of(ToolResultEvent)]
    assert [result.error.code if result.error else None for result in results] == codes


@pytest.mark.anyio
async def test_another_conversation_has_to_read_for_itself(host) -> None:
    (host.workspace / "f").write_text("a\n")
    read, write = Call("file_read", path="f"), Call("file_write", path="f", content="x")
    model = ScriptedModel([read, "done", write, "done", write, "done"])
    async with host(*PLUGINS, model=model) as running:
        await running.ask("read", chat="one")
        await running.ask("write", chat="two")
        await running.ask("write", chat="one")
        results = [event.result for event in running.recorder.of(ToolResultEvent)]
    assert [result.error.code if result.error else None for result in results] == [
        None,
        "not_read",
        None,
    ]


ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "latin-1", "shift_jis"])
PIECES = st.lists(
    st.sampled_from(["a", "b ", "\t", "\n", "\r\n", "\r", "x\x0c", "é", "日", "\u2028"]),
    max_size=12,
).map("".join)


@settings(
    deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(ENCODINGS, PIECES, PIECES, PIECES, st.lists(PIECES, min_size=2, max_size=2))
def test_bytes_outside_the_places_are_the_same(encoding, before, between, after, new) -> None:
    text = f"{before}<1>{between}<2>{after}"
    marks = {"utf-16-be": b"\xfe\xff"}
    try:
        data = marks.get(encoding, b"") + text.encode(encoding)
    except UnicodeEncodeError:
        assume(False)
    named = encoding if encoding in ("latin-1", "shift_jis") else None
    reading = editable("f", data, named)[0]
    assume(all(_fits(reading.encoding, item) for item in new))
    done = replace_texts(reading.text, [Replacement("<2>", new[1]), Replacement("<1>", new[0])])
    result = reading.encoded("f", done.text, done.inserted)
    codec = reading.encoding
    head = reading.mark + before.encode(codec)
    tail = after.encode(codec)
    assert result.startswith(head)
    assert result.endswith(tail)
    middle = result[len(head) : len(result) - len(tail)].decode(codec)
    assert between in middle
    # new lines end as those beside them do
    assert middle.replace("\r", "") == (new[0] + between + new[1]).replace("\r", "")


def _fits(encoding: str, text: str) -> bool:
    try:
        return text.encode(encoding).decode(encoding) == text
    except UnicodeError:
        return False


def test_edits_that_touch_do_not_overlap() -> None:
    made = replace_texts("ab", [Replacement("b", "2"), Replacement("a", "1")])
    assert made.text == "12"
    with pytest.raises(Overlapping):
        replace_texts("aba", [Replacement("a", "1", True), Replacement("ab", "2")])
