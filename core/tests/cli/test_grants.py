"""`pegboard grant` and `pegboard revoke`, on a real config file."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest


@pytest.fixture
def beside(here) -> Path:
    folder = here.folder / "beside"
    folder.mkdir()
    return folder


def grants(here) -> list[dict]:
    text = here.config.read_text() if here.config.exists() else ""
    return tomllib.loads(text).get("sandbox", {}).get("grants", [])


def test_a_grant_is_kept_in_the_config_file_beside_its_comments(here, beside):
    here.write_config("# mine\n[agent]\nmax_steps = 5 # few\n")
    ended = here.run("grant", str(beside))
    assert (ended.code, ended.out) == (0, f"{beside} is granted: read by tools.\n")
    assert grants(here) == [{"path": str(beside), "mode": "ro"}]
    assert "# mine" in here.config.read_text() and "# few" in here.config.read_text()


def test_a_second_grant_of_the_same_path_replaces_the_first(here, beside):
    here.run("grant", str(beside))
    again = here.run("grant", str(beside))
    assert "is granted already" in again.out
    ended = here.run("grant", "../beside", "--write", "--json")
    assert ended.json["mode"] == "rw" and ended.json["changed"] is True
    assert grants(here) == [{"path": str(beside), "mode": "rw"}]


def test_a_path_of_any_letters_is_kept_as_it_is(here, beside):
    strange = beside / 'ünï "quoted"\nline'
    strange.mkdir()
    assert here.run("grant", str(strange)).code == 0
    assert grants(here)[0]["path"] == str(strange)
    assert here.run("revoke", str(strange)).code == 0


@pytest.mark.parametrize("path", ["/", "/etc", "/proc", "/home"])
def test_what_may_never_be_granted_is_refused(here, path):
    ended = here.run("grant", path)
    assert ended.code != 0
    assert "refusing to grant" in ended.err and "Fix:" in ended.err
    assert grants(here) == []


def test_what_is_neither_a_folder_nor_a_file_is_refused_when_it_is_granted(here, beside):
    os.mkfifo(beside / "fifo")
    ended = here.run("grant", str(beside / "fifo"))
    assert "it is neither a folder nor a file" in ended.err
    assert "does not exist" in here.run("grant", "~nobody-of-this-name/x").err
    assert grants(here) == []


def test_pegboards_own_folders_are_refused(here):
    here.write_config("")
    ended = here.run("grant", str(here.config.parent))
    assert "belongs to Pegboard itself" in ended.err


def test_system_folders_are_granted_to_be_read_only(here):
    assert here.run("grant", "/usr/share", "--write").code != 0
    assert here.run("grant", "/usr/share").code == 0


def test_what_does_not_exist_is_refused_with_the_command_that_makes_it(here):
    ended = here.run("grant", str(here.folder / "gone"))
    assert ended.code == 2
    assert f"mkdir -p {here.folder}/gone" in ended.err


def test_a_person_may_grant_secrets_and_is_warned(here, beside):
    (beside / ".ssh").mkdir()
    ended = here.run("grant", str(beside / ".ssh"))
    assert ended.code == 0
    assert "it holds secrets" in ended.err
    assert f"pegboard revoke {beside}/.ssh" in ended.err


def test_what_was_granted_is_taken_back_by_any_spelling(here, beside):
    here.write_config(
        f"""
        # folders
        [[sandbox.grants]]
        path = "{beside}"

        [[sandbox.grants]]
        path = "../other"
        mode = "rw"
        """
    )
    assert here.run("revoke", "../beside").code == 0
    assert grants(here) == [{"path": "../other", "mode": "rw"}]
    assert here.run("revoke", "../other").out.endswith("is not granted any more.\n")
    assert grants(here) == []
    assert "# folders" in here.config.read_text() or here.config.read_text() == ""


def test_only_a_grant_can_be_taken_back(here, beside):
    nothing = here.run("revoke", str(beside))
    assert nothing.code == 2 and "is not granted in" in nothing.err
    here.run("grant", str(beside))
    inside = here.run("revoke", str(beside / "below"))
    assert inside.code == 2
    assert f"pegboard revoke {beside}" in inside.err
    assert grants(here) != []


def test_another_source_that_decides_is_told(here, beside):
    ended = here.run("--set", "sandbox.grants=[]", "grant", str(beside))
    assert ended.code == 0
    assert "still decides sandbox.grants" in ended.err
