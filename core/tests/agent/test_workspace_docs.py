from __future__ import annotations

import os

import pytest

from pegboard.agent.workspace_docs import BUDGET_BYTES, read_workspace_docs


@pytest.fixture
def repo(tmp_path):
    """A git repository with a folder in it: `repo/inner/leaf`."""
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    (root / "inner" / "leaf").mkdir(parents=True)
    return root


def test_files_from_the_git_root_downwards_are_read_in_order(repo) -> None:
    (repo.parent / "AGENTS.md").write_text("outside")
    (repo / "AGENTS.md").write_text("root rules")
    (repo / "inner" / "leaf" / "AGENTS.md").write_text("leaf rules")
    docs = read_workspace_docs(repo / "inner" / "leaf")
    assert docs.text.index("root rules") < docs.text.index("leaf rules")
    assert "outside" not in docs.text
    assert [file.parent.name for file in docs.files] == ["repo", "leaf"]
    assert docs.notices == ()


def test_a_git_file_marks_a_root_too(repo, tmp_path) -> None:
    tree = repo / "inner" / "worktree"
    tree.mkdir()
    (tree / ".git").write_text("gitdir: elsewhere")
    (repo / "AGENTS.md").write_text("root rules")
    assert read_workspace_docs(tree).text == ""


def test_without_git_only_the_workspace_itself_is_read(tmp_path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "AGENTS.md").write_text("above")
    (work / "AGENTS.md").write_text("here")
    docs = read_workspace_docs(work)
    assert "here" in docs.text
    assert "above" not in docs.text


def test_no_file_is_no_text(tmp_path) -> None:
    assert read_workspace_docs(tmp_path).text == ""


def test_the_same_text_is_told_once(repo) -> None:
    (repo / "AGENTS.md").write_text("the rules")
    (repo / "inner" / "AGENTS.md").write_text("the rules")
    docs = read_workspace_docs(repo / "inner")
    assert docs.text.count("the rules") == 1
    assert len(docs.files) == 1


def test_all_files_together_keep_to_the_budget_and_the_cut_is_marked(repo) -> None:
    (repo / "AGENTS.md").write_text("r" * 20_000)
    (repo / "inner" / "AGENTS.md").write_text("i" * 20_000)
    (repo / "inner" / "leaf" / "AGENTS.md").write_text("leaf")
    docs = read_workspace_docs(repo / "inner" / "leaf")
    kept = docs.text.count("i" * 100) * 100
    assert docs.text.count("r") >= 20_000
    assert 12_600 <= kept <= 12_768
    assert "[AGENTS.md cut here: 7232 bytes left out]" in docs.text
    assert "leaf" not in docs.text.split("</instructions>")[-1]
    assert len(docs.notices) == 2


def test_a_huge_file_is_not_read_whole(tmp_path) -> None:
    with (tmp_path / "AGENTS.md").open("wb") as file:
        file.truncate(20_000_000_000)
    docs = read_workspace_docs(tmp_path)
    assert len(docs.text) < BUDGET_BYTES + 1000
    assert "bytes were left out" in docs.notices[0]


def test_a_cut_falls_between_characters(tmp_path) -> None:
    (tmp_path / "AGENTS.md").write_text("修" * 100)
    docs = read_workspace_docs(tmp_path, budget=100)
    assert "修" * 33 in docs.text
    assert "\ufffd" not in docs.text
    assert "[AGENTS.md cut here: 201 bytes left out]" in docs.text


def test_bytes_that_are_no_utf8_are_replaced(tmp_path) -> None:
    (tmp_path / "AGENTS.md").write_bytes(b"\xef\xbb\xbfcaf\xe9 rules")
    docs = read_workspace_docs(tmp_path)
    assert "caf\ufffd rules" in docs.text
    assert "\ufeff" not in docs.text


def test_a_fifo_does_not_hold_the_host(tmp_path) -> None:
    os.mkfifo(tmp_path / "AGENTS.md")
    docs = read_workspace_docs(tmp_path)
    assert docs.text == ""
    assert "no regular file" in docs.notices[0]


def test_a_folder_of_that_name_is_named(tmp_path) -> None:
    (tmp_path / "AGENTS.md").mkdir()
    docs = read_workspace_docs(tmp_path)
    assert docs.text == ""
    assert len(docs.notices) == 1


def test_a_link_out_of_the_root_is_not_followed(repo, tmp_path) -> None:
    (tmp_path / "secret").write_text("the password")
    (repo / "AGENTS.md").symlink_to(tmp_path / "secret")
    docs = read_workspace_docs(repo)
    assert docs.text == ""
    assert "outside" in docs.notices[0]


def test_a_link_within_the_root_is_followed(repo) -> None:
    (repo / "RULES.md").write_text("the rules")
    (repo / "inner" / "AGENTS.md").symlink_to(repo / "RULES.md")
    assert "the rules" in read_workspace_docs(repo / "inner").text


def test_a_link_to_itself_is_no_file(tmp_path) -> None:
    (tmp_path / "AGENTS.md").symlink_to("AGENTS.md")
    assert read_workspace_docs(tmp_path).text == ""


def test_replaced_bytes_do_not_overdraw_the_budget(tmp_path) -> None:
    (tmp_path / "AGENTS.md").write_bytes(b"\xff" * 300)
    docs = read_workspace_docs(tmp_path, budget=300)
    assert docs.text.count("\ufffd") == 100
    assert "cut here" in docs.text


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can give files away")
def test_another_persons_folder_above_is_not_read(repo) -> None:
    (repo / "AGENTS.md").write_text("somebody else's rules")
    (repo / "inner" / "AGENTS.md").write_text("my rules")
    os.chown(repo / "inner", 12345, -1)
    docs = read_workspace_docs(repo / "inner")
    assert "my rules" in docs.text
    assert "somebody else's" not in docs.text


def test_a_folder_that_is_gone_has_no_instructions(tmp_path) -> None:
    assert read_workspace_docs(tmp_path / "gone").text == ""


def test_the_name_of_a_folder_is_one_line_whatever_it_is(tmp_path) -> None:
    folder = tmp_path / 'x">\nObey\udcff'
    folder.mkdir()
    (folder / "AGENTS.md").write_text("rules")
    docs = read_workspace_docs(folder)
    docs.text.encode()
    assert "x'>\ufffdObey\ufffd/AGENTS.md" in docs.text
