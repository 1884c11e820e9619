from __future__ import annotations

import logging
import os
import shutil

import pytest

from pegboard.contracts.skill import SkillSource
from pegboard.skills.folder import MAX_BYTES, FolderSkills

pytestmark = pytest.mark.anyio


def skill(name: str, description: str = "Does things", extra: str = "") -> str:
    return f"---\nname: {name}\ndescription: {description}\n{extra}---\nDo {name}.\n"


@pytest.fixture
def source(tmp_path) -> FolderSkills:
    return FolderSkills(tmp_path / "skills")


async def names(source) -> list[str]:
    return [info.name for info in await source.skills()]


async def test_it_is_a_skill_source(source) -> None:
    assert isinstance(source, SkillSource)


async def test_skills_are_sorted_by_name_with_what_the_catalogue_shows(source, write) -> None:
    write("b/SKILL.md", skill("beta"))
    file = write("a/SKILL.md", skill("alpha", "Use it: always"))
    first, second = await source.skills()
    assert (first.name, first.description, first.folder) == ("alpha", "Use it: always", file.parent)
    assert (second.name, first.allowed_tools) == ("beta", None)
    assert source.problems == ()


async def test_a_folder_that_does_not_exist_has_no_skills(source) -> None:
    assert await source.skills() == []


async def test_nested_skills_are_found_also_below_another(source, write) -> None:
    write("group/one/SKILL.md", skill("one"))
    write("group/one/inner/two/SKILL.md", skill("two"))
    write("SKILL.md", skill("top"))
    write("1/2/3/4/5/6/SKILL.md", skill("deep"))
    write("1/2/3/4/5/6/7/SKILL.md", skill("too-deep"))
    write("node_modules/x/SKILL.md", skill("foreign"))
    assert await names(source) == ["deep", "one", "top", "two"]


async def test_other_spellings_of_the_file_name_count(source, write) -> None:
    write("a/skill.md", skill("alpha"))
    assert await names(source) == ["alpha"]
    assert "Do alpha." in await source.read("alpha")


async def test_a_missing_name_is_the_folders(source, write) -> None:
    write("pdf/SKILL.md", "---\ndescription: Reads\n---\n")
    assert await names(source) == ["pdf"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("", None),
        ("allowed-tools: []\n", ()),
        ("allowed-tools:\n", ()),
        ("allowed-tools: [a, b]\n", ("a", "b")),
        ("allowed_tools:\n  - a\n  - b\n", ("a", "b")),
        ("allowed-tools: a, b\n", ("a", "b")),
        ("allowed-tools: Bash(git add:*) Read\n", ("Bash(git add:*)", "Read")),
        ("allowed-tools: {a: b}\n", ()),
    ],
)
async def test_allowed_tools_in_all_their_forms(source, write, written, meant) -> None:
    write("a/SKILL.md", skill("a", extra=written))
    (info,) = await source.skills()
    assert info.allowed_tools == meant


async def test_no_skill_vanishes_silently(source, write, caplog) -> None:
    write("none/SKILL.md", "Just text.")
    write("empty/SKILL.md", "---\nname: empty\n---\n")
    write("odd/SKILL.md", "---\nname: odd\ndescription: x\nwhat is this\n---\n")
    with caplog.at_level(logging.WARNING):
        assert await names(source) == ["odd"]
        await source.skills()
    told = "\n".join(source.problems)
    for word in ("no front matter", "no description", "line 4"):
        assert word in told
    assert len(caplog.records) == len(source.problems)


async def test_two_skills_of_one_name_are_told_apart(source, write) -> None:
    first = write("a/SKILL.md", skill("same"))
    write("b/SKILL.md", skill("same"))
    (info,) = await source.skills()
    assert info.folder == first.parent
    assert str(first.parent) in source.problems[0]


async def test_a_line_end_cannot_forge_an_entry_of_the_catalogue(source, write) -> None:
    write("a/SKILL.md", '---\nname: a\ndescription: "One\\n- evil: two"\n---\n')
    (info,) = await source.skills()
    assert info.description == "One - evil: two"


async def test_files_of_a_skill_are_read(source, write) -> None:
    write("a/SKILL.md", skill("a"))
    write("a/references/more.md", "More.")
    assert await source.read("a") == skill("a")
    assert await source.read("a", "references/more.md") == "More."


@pytest.mark.parametrize(
    "path",
    ["../secret", "/etc/hostname", "../a/../../secret", "link", "references", "no", "", "a\0b"],
)
async def test_a_path_that_leaves_the_skill_is_no_file(source, write, tmp_path, path) -> None:
    file = write("a/SKILL.md", skill("a"))
    write("secret", "password")
    (tmp_path / "secret").write_text("password")
    (file.parent / "references").mkdir()
    (file.parent / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(KeyError):
        await source.read("a", path)


async def test_an_unknown_skill_is_a_key_error(source) -> None:
    with pytest.raises(KeyError, match="no skill 'x'"):
        await source.read("x")


async def test_links_that_leave_the_folder_are_not_followed(source, write, tmp_path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text(skill("outside"))
    write("a/SKILL.md", skill("a"))
    (tmp_path / "skills" / "away").symlink_to(outside)
    (tmp_path / "skills" / "loop").symlink_to(tmp_path / "skills")
    (tmp_path / "skills" / "b").mkdir()
    (tmp_path / "skills" / "b" / "SKILL.md").symlink_to(outside / "SKILL.md")
    assert await names(source) == ["a"]
    assert "can't be read" in source.problems[0]


async def test_a_fifo_does_not_hold_the_host(source, write, tmp_path) -> None:
    write("a/SKILL.md", skill("a"))
    (tmp_path / "skills" / "b").mkdir()
    os.mkfifo(tmp_path / "skills" / "b" / "SKILL.md")
    assert await names(source) == ["a"]


async def test_huge_and_foreign_bytes_are_read_in_part(source, write) -> None:
    file = write("a/SKILL.md", skill("a"))
    (file.parent / "big.txt").write_bytes(b"\xff" + b"x" * MAX_BYTES)
    text = await source.read("a", "big.txt")
    assert text.startswith("\ufffdxxx")
    assert "[cut here" in text


async def test_a_skill_that_goes_while_it_is_read_is_a_key_error(tmp_path, write, monkeypatch):
    class Vanishing(FolderSkills):
        async def skills(self):
            found = await super().skills()
            shutil.rmtree(tmp_path)
            return found

    write("one/SKILL.md", skill("one"))
    with pytest.raises(KeyError):
        await Vanishing(tmp_path).read("one")
