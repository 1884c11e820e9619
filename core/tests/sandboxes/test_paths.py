from __future__ import annotations

import pytest

from pegboard.contracts.errors import SandboxError
from pegboard.sandboxes.paths import canon, is_below, join, read_path, split

WORKSPACE = ("srv", "ws")
HOME = ("home", "ann")


def parts(text: str) -> str:
    return join(read_path(text, workspace=WORKSPACE, home=HOME).parts)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a/b", "/srv/ws/a/b"),
        (".", "/srv/ws"),
        ("./a/./b//c", "/srv/ws/a/b/c"),
        ("a/../b", "/srv/ws/b"),
        ("..", "/srv"),
        ("../../../..", "/"),
        ("/etc/passwd", "/etc/passwd"),
        ("//etc/passwd", "/etc/passwd"),
        ("~", "/home/ann"),
        ("~/x", "/home/ann/x"),
        ("./~root/x", "/srv/ws/~root/x"),
        ("~$notes.docx", "/srv/ws/~$notes.docx"),
        ("~WRL0001.tmp", "/srv/ws/~WRL0001.tmp"),
        ("~$draft.docx", "/srv/ws/~$draft.docx"),
        ("-rf", "/srv/ws/-rf"),
        ("new\nline", "/srv/ws/new\nline"),
        ("f ", "/srv/ws/f "),
        ("C:x", "/srv/ws/C:x"),
        ("a\\..\\b", "/srv/ws/a\\..\\b"),
        ("x\udcff", "/srv/ws/x\udcff"),
    ],
)
def test_a_path_is_read_into_one_absolute_place(text: str, where: str) -> None:
    assert parts(text) == where


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("a\0b", "NUL byte"),
        ("file:///x", "is a URL"),
        ("https://example.org/x", "is a URL"),
        ("x\ud800", "not valid text"),
        ("~root/x", "another user's home"),
        ("~root", "another user's home"),
    ],
)
def test_what_can_not_be_a_path_is_refused_with_a_next_step(text: str, words: str) -> None:
    with pytest.raises(SandboxError, match=words) as caught:
        parts(text)
    assert caught.value.fix


@pytest.mark.parametrize(("text", "folder"), [("a/", True), ("a/.", True), ("a", False)])
def test_a_slash_at_the_end_names_a_folder(text: str, folder: bool) -> None:
    assert read_path(text, workspace=WORKSPACE, home=HOME).folder is folder


def test_a_sibling_with_the_same_beginning_is_not_inside() -> None:
    assert not is_below(split("/srv/ws-secret/f"), WORKSPACE)
    assert is_below(split("/srv/ws/f"), WORKSPACE)


@pytest.mark.parametrize(
    "name",
    [
        ".GIT",
        ".git\u200c",
        "GIT~1",
        ".git::$INDEX_ALLOCATION",
        "\uff0egit",
        ".git.",
        ".git ",
        ".g\u00adit",
    ],
)
def test_other_spellings_of_a_name_come_to_the_same(name: str) -> None:
    assert canon(name) == ".git"


@pytest.mark.parametrize("name", [".\u0261it", ".g\u0456t", "git", ".gitx"])
def test_look_alike_names_stay_different(name: str) -> None:
    assert canon(name) != ".git"
