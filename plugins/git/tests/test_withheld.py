"""What no file tool reads is not read out of a repository either."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pegboard_git.withheld import Version, parse_raw, without

pytestmark = pytest.mark.anyio

BEGIN, SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----", "b3BlbnNzaC1rZXk"
KEY = f"{BEGIN}\n{SECRET}\n-----END OPENSSH PRIVATE KEY-----\n"
OPEN = "-----BEGIN CERTIFICATE-----\nopen\n-----END CERTIFICATE-----\n"


def with_key(folder: Path, git) -> None:
    """Commit private keys and what only looks like one, and change both."""
    (folder / "deep/er/est/of/all").mkdir(parents=True)
    for name, text in (("id_rsa", KEY), ("deep/er/est/of/all/x.pem", KEY), ("open.pem", OPEN)):
        (folder / name).write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Keys")
    (folder / "id_rsa").write_text(KEY.replace("LS", "XX") + "more\n")
    (folder / "open.pem").write_text(f"{OPEN}more\n")
    git(folder, "commit", "-qam", "Changed keys")


READS = (
    ("show", {}),
    ("show", {"ref": "HEAD~1"}),
    ("diff", {"ref": "HEAD~2..HEAD"}),
    ("diff", {"ref": "HEAD~2"}),
    ("diff", {}),
    ("diff", {"staged": True, "ref": "HEAD~2"}),
    ("log", {"form": "patch"}),
    ("log", {"form": "patch", "paths": ["id_rsa"]}),
    ("grep", {"pattern": "b3Bl"}),
    ("grep", {"pattern": "b3Bl", "ref": "HEAD~1"}),
    ("grep", {"pattern": ".", "paths": ["deep"], "context": 3}),
)


async def test_a_private_key_is_not_shown_and_named(anywhere, git) -> None:
    with_key(anywhere.folder, git)
    for action, arguments in READS:
        found = await anywhere.read(action, **arguments)
        assert SECRET not in found.text and BEGIN not in found.text, (action, arguments)
        if (action, arguments) != ("diff", {}):
            assert "[left out, as protected: " in found.text, (action, arguments)
            assert "(it is a private key)" in found.text
            assert found.structured["withheld"][0]["reason"] == "it is a private key"
    shown = await anywhere.read("show")
    assert "+more" in shown.text and "open.pem" in shown.text, "a certificate is no key"
    for action, arguments in (
        ("file", {"paths": ["id_rsa"]}),
        ("file", {"paths": ["deep/er/est/of/all/x.pem"], "ref": "HEAD~1"}),
        ("blame", {"paths": ["id_rsa"]}),
        ("blame", {"paths": ["id_rsa"], "ref": "HEAD~1"}),
    ):
        error = await anywhere.error("git_read", action, **arguments)
        assert error.code == "protected", (action, error)
        assert "it is a private key" in error.message


async def test_a_commit_is_told_although_all_that_it_changes_is_left_out(bench) -> None:
    bench.put("id_rsa", KEY)
    bench.git("add", ".")
    bench.git("commit", "-qm", "Only a key")
    found = await bench.read("log", form="patch", limit=1)
    assert "Only a key" in found.text and "id_rsa (it is a private key)" in found.text


async def test_a_key_that_was_renamed_is_not_shown_under_either_name(bench, git) -> None:
    with_key(bench.folder, git)
    bench.git("mv", "id_rsa", "notes.txt")
    bench.git("commit", "-qm", "Renamed")
    for action, arguments in (("show", {}), ("log", {"form": "patch", "limit": 1})):
        found = await bench.read(action, **arguments)
        assert BEGIN not in found.text and "notes.txt (it is a private key)" in found.text


async def test_a_key_is_found_by_no_detour(bench, git) -> None:
    with_key(bench.folder, git)
    blob = bench.git("rev-parse", "HEAD:id_rsa")
    other = bench.git("rev-parse", "HEAD:a.txt")
    tree = bench.git("rev-parse", "HEAD^{tree}")
    bench.git("tag", "blob", blob)
    for action, arguments in (
        ("diff", {"ref": f"{other}..{blob}"}),
        ("diff", {"ref": "blob"}),
        ("show", {"ref": "blob"}),
        ("grep", {"pattern": "b3Bl", "ref": "blob"}),
        ("grep", {"pattern": "b3Bl", "ref": tree}),
        ("file", {"ref": tree, "paths": ["id_rsa"]}),
    ):
        error = await bench.error("git_read", action, **arguments)
        assert error.code == "unknown_revision", (action, error)


async def test_a_search_does_not_look_into_the_index_for_a_key(
    opened, host, repository, git
) -> None:
    repository(host.workspace)
    async with opened("local") as bench:
        with_key(bench.folder, git)
        bench.git("update-index", "--assume-unchanged", "id_rsa")
        bench.put("id_rsa", "no key\n")
        found = await bench.read("grep", pattern="b3Bl")
        assert SECRET not in found.text and "id_rsa" in found.text


async def test_a_conflict_and_a_stash_do_not_show_a_key(opened, host, repository, git) -> None:
    repository(host.workspace)
    async with opened("local") as bench:
        with_key(bench.folder, git)
        bench.put("id_rsa", f"{KEY}stashed\n")
        bench.put("a.txt", "stashed\n")
        bench.git("stash")
        found = await bench.read("stash", index=0)
        assert SECRET not in found.text and "+stashed" in found.text and "id_rsa" in found.text
        bench.git("switch", "-qc", "other", "HEAD~1")
        bench.put("id_rsa", "theirs\n")
        bench.git("commit", "-qam", "Theirs")
        await bench.error("git_write", "merge", ref="main")
        bench.put("id_rsa", "no key any more\n")
        found = await bench.read("diff")
        assert SECRET not in found.text and "id_rsa (it is a private key)" in found.text


async def test_a_closed_place_is_not_shown(host, opened, repository, monkeypatch) -> None:
    """A home folder may hold the workspace, and the workspace what is secret in it."""
    folder = repository(host.workspace)
    monkeypatch.setenv("HOME", str(folder.parent))
    names = sys.modules["pegboard.sandboxes.protected"]
    monkeypatch.setattr(names, "SECRETS", (f"{folder.name}/.netrc",))
    async with opened("local") as bench:
        bench.put(".netrc", "password b3Bl\n")
        bench.git("add", ".")
        bench.git("commit", "-qm", "Secret")
        for action, arguments in (("show", {}), ("grep", {"pattern": "b3Bl"})):
            assert "b3Bl" not in (await bench.read(action, **arguments)).text
        # neither does the number of matches tell what is in it
        for pattern in ("p|b", "p|x"):
            bench.put(".netrc", "password b3Bl\nbxx\n")
            found = await bench.read("grep", pattern=pattern, paths=[".netrc"], limit=1)
            assert found.text == "[no match]" and not found.structured["more"]
        error = await bench.error("git_read", "file", paths=[".netrc"])
        assert error.code == "protected" and "it holds secrets" in error.message


async def test_a_link_that_leads_out_is_shown_as_a_link(bench, tmp_path) -> None:
    (bench.folder / "out").symlink_to(tmp_path)
    bench.git("add", "out")
    assert f"+{tmp_path}" in (await bench.read("diff", staged=True)).text


async def test_a_private_key_is_not_stored(anywhere) -> None:
    anywhere.put("new.key", KEY)
    anywhere.put("new.txt", "new\n")
    found = await anywhere.write("add", paths=["."])
    assert "new.key (it is a private key)" in found.text
    assert anywhere.git("diff", "--cached", "--name-only") == "new.txt"
    error = await anywhere.error("git_write", "add", paths=["new.key"])
    assert error.code == "protected"
    anywhere.git("add", "new.key")
    error = await anywhere.error("git_write", "mv", paths=["new.key"], to="plain.txt")
    assert error.code == "protected"


async def test_a_key_that_the_sandbox_hides_is_not_in_the_way(
    host, opened, repository, git
) -> None:
    repository(host.workspace)
    with_key(host.workspace, git)
    async with opened() as bench:
        await _hidden(bench)


async def _hidden(bench) -> None:
    bench.put("a.txt", "changed\n")
    made = await bench.write("commit", message="All", all=True)
    assert "(1 file)" in made.text and "id_rsa" in made.text
    bench.put("a.txt", "again\n")
    assert "id_rsa" in (await bench.write("stash_push")).text
    await bench.write("stash_pop")
    assert "id_rsa" in (await bench.write("restore", paths=["."])).text
    assert "[not compared, as protected: id_rsa" in (await bench.read("status")).text
    for action, arguments in (("rebase", {"ref": "HEAD~1"}), ("reset", {"mode": "hard"})):
        error = await bench.error("git_write", action, **arguments)
        assert error.code == "protected" and "id_rsa" in error.message
    assert (bench.folder / "id_rsa").read_text().endswith("more\n")
    assert bench.git("status", "--porcelain") == ""


def test_both_sides_of_each_file_are_read_out_of_a_raw_difference() -> None:
    one, two, none = "1" * 40, "2" * 40, "0" * 40
    records = (
        f":100644 100644 {one} {two} M",
        "a",
        f":100644 120000 {one} {two} T",
        "b",
        f":100644 100644 {one} {none} R090",
        "old\nname",
        "new",
        f":000000 160000 {none} {two} A",
        "module",
        f":000000 000000 {none} {none} U",
        "both",
        f":100644 000000 {one} {none} D",
        "gone",
    )
    assert parse_raw("\0".join([*records, ""]).encode()) == [
        Version("a", one),
        Version("a", two),
        Version("b", one),
        Version("b", two, link=True),
        Version("old\nname", one, twin="new"),
        Version("new", "", twin="old\nname"),
        Version("both", None),
        Version("gone", one),
    ]


def test_what_is_left_out_is_no_pattern() -> None:
    assert without(["a"], []) == (["a"], {})
    paths, env = without([".", ":(glob)x"], ["*.pem"])
    assert paths == [":(top)", ":(literal,top):(glob)x", ":(exclude,literal,top)*.pem"]
    assert env == {"GIT_LITERAL_PATHSPECS": "0"}
