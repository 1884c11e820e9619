"""What a sandbox is told to show to a command, and what may not be left behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Grant
from pegboard.sandboxes import ClosedPlace, CommandPlaces, SandboxFiles

Opener = Callable[..., SandboxFiles]


def places_of(files: SandboxFiles, **more) -> CommandPlaces:
    made = CommandPlaces(files.table, **more)
    made.look()
    return made


def shown(places: CommandPlaces, *, writable: bool = True):
    now = places.begin(writable=writable)
    assert places.end() == ()
    return now


def closed(places: CommandPlaces, **more) -> dict[str, str]:
    return {place.path: place.why for place in shown(places, **more).closed}


def test_grants_are_as_wide_as_the_call_allows(
    opened: Opener, workspace: Path, tmp_path: Path
) -> None:
    for name in ("ro", "rw"):
        (tmp_path / name).mkdir()
    places = places_of(opened(Grant(tmp_path / "ro", "ro"), Grant(tmp_path / "rw", "rw")))
    assert shown(places).grants == (
        Grant(workspace, "rw"),
        Grant(tmp_path / "ro", "ro"),
        Grant(tmp_path / "rw", "rw"),
    )
    assert {grant.mode for grant in shown(places, writable=False).grants} == {"ro"}


def test_the_same_place_is_granted_once_and_the_first_counts(
    opened: Opener, workspace: Path
) -> None:
    places = places_of(opened(Grant(workspace, "ro")))
    assert shown(places).grants == (Grant(workspace, "rw"),)


def test_a_spelling_through_a_link_is_told(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    places = places_of(opened(Grant(tmp_path / "link", "ro")))
    assert shown(places).links == ((str(tmp_path / "link"), str(tmp_path / "real")),)


def test_what_decides_what_programs_run_is_closed_and_its_folders_pinned(
    opened: Opener, workspace: Path
) -> None:
    for name in (".git/hooks", ".git/modules/sub/hooks", "a/b/.git", "a/.vscode"):
        (workspace / name).mkdir(parents=True)
    for name in (".envrc", ".git/config", ".git/modules/sub/config", "a/b/.git/config"):
        (workspace / name).touch()
    places = places_of(opened())
    assert closed(places) == dict.fromkeys(
        (
            str(workspace / name)
            for name in (
                *(".envrc", ".git/config", ".git/hooks", ".git/modules/sub/config"),
                *(".git/modules/sub/hooks", "a/b/.git/config", "a/.vscode"),
            )
        ),
        "control",
    )
    pinned = [str(Path(path).relative_to(workspace)) for path in shown(places).pinned]
    assert sorted(pinned) == [".git", ".git/modules", ".git/modules/sub", "a", "a/b", "a/b/.git"]
    assert pinned == sorted(pinned, key=lambda path: path.count("/"))


def test_a_call_that_may_not_write_needs_nothing_but_hiding(
    opened: Opener, workspace: Path
) -> None:
    (workspace / ".envrc").touch()
    (workspace / "id_rsa").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    places = places_of(opened())
    assert closed(places, writable=False) == {str(workspace / "id_rsa"): "key"}
    assert shown(places, writable=False).pinned == ()


def test_a_grant_that_names_it_opens_it(opened: Opener, workspace: Path) -> None:
    (workspace / ".git").mkdir()
    (workspace / ".git/config").touch()
    places = places_of(opened(Grant(workspace / ".git", "rw")))
    assert closed(places) == {}
    places.begin(writable=True)
    (workspace / ".git/commondir").touch()
    assert places.end() == ()


def test_own_places_and_secrets_are_hidden_where_a_grant_holds_them(
    opened: Opener, home: Path, workspace: Path
) -> None:
    for name in (".config/gh", ".config/pegboard", ".ssh"):
        (home / name).mkdir(parents=True)
    own = (home / ".config/pegboard", home / ".config/new")
    files = opened(Grant(home / ".config", "rw"), protected=own)
    assert closed(places_of(files)) == {
        str(home / ".config/gh"): "secret",
        str(home / ".config/pegboard"): "own",
        str(home / ".config/new"): "own",
    }
    assert (home / ".config/new").stat().st_mode & 0o777 == 0o700
    everywhere = places_of(files, everywhere=True, more=(workspace / "machine",))
    (workspace / "machine").touch()
    found = closed(everywhere)
    assert found[str(home / ".ssh")] == "secret"
    assert found[str(workspace / "machine")] == "secret"


def test_a_link_to_a_secret_hides_what_it_leads_to(opened: Opener, home: Path) -> None:
    (home / ".config/real").mkdir(parents=True)
    (home / ".config/gh").symlink_to("real")
    (home / ".config/rclone").symlink_to("nowhere")
    files = opened(Grant(home / ".config", "rw"))
    assert closed(places_of(files)) == {str(home / ".config/real"): "secret"}


def test_a_folder_with_very_many_entries_ends_the_look(
    opened: Opener, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pegboard.sandboxes.closed_places.BUDGET", 10)
    for number in range(20):
        (workspace / f"d{number}/deep").mkdir(parents=True)
    (workspace / ".envrc").touch()
    assert closed(places_of(opened())) == {str(workspace / ".envrc"): "control"}


def test_what_is_gone_or_a_link_by_now_is_not_laid_over(opened: Opener, workspace: Path) -> None:
    for name in ("a", "b"):
        (workspace / name).mkdir()
        (workspace / name / ".envrc").touch()
    places = places_of(opened())
    (workspace / "a/.envrc").unlink()
    (workspace / "b/.envrc").unlink()
    (workspace / "b/.envrc").symlink_to("/etc/passwd")
    assert closed(places) == {}


def test_what_a_command_has_made_is_moved_aside(opened: Opener, workspace: Path) -> None:
    places = places_of(opened())
    places.begin(writable=True)
    (workspace / ".envrc").write_text("evil")
    (workspace / ".envrc.held").write_text("taken")
    (workspace / "plain").touch()
    notes = places.end()
    assert len(notes) == 1 and ".envrc.held-1" in notes[0]
    assert (workspace / ".envrc.held-1").read_text() == "evil"
    assert (workspace / "plain").exists()


def test_commands_at_the_same_time_are_shown_the_same(opened: Opener, workspace: Path) -> None:
    places = places_of(opened())
    first = places.begin(writable=True)
    (workspace / ".envrc").symlink_to("/etc/passwd")
    second = places.begin(writable=True)
    assert first == second
    assert len(places.end()) == 1
    assert places.end() == ()


def test_a_link_that_was_there_is_put_back(opened: Opener, workspace: Path) -> None:
    (workspace / ".envrc").symlink_to("conf")
    places = places_of(opened())
    for attack in ("remove", "replace", "lead elsewhere"):
        places.begin(writable=True)
        (workspace / ".envrc").unlink()
        if attack == "replace":
            (workspace / ".envrc").write_text("evil")
        elif attack == "lead elsewhere":
            (workspace / ".envrc").symlink_to("evil")
        places.end()
        assert (workspace / ".envrc").readlink() == Path("conf"), attack


def test_a_folder_that_was_replaced_is_refused(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "file").touch()
    places = places_of(opened(Grant(tmp_path / "shared", "rw"), Grant(tmp_path / "file", "ro")))
    shown(places)
    (tmp_path / "shared").rename(tmp_path / "moved")
    (tmp_path / "shared").mkdir()
    with pytest.raises(SandboxError, match="no longer what it was"):
        places.begin(writable=True)


def test_closed_places_say_what_they_are() -> None:
    assert ClosedPlace("/x", True, "own").hidden
    assert not ClosedPlace("/x", False, "control").hidden


def test_what_can_not_be_moved_aside_is_told(
    opened: Opener, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pegboard.sandboxes.command_places._TRIES", 1)
    places = places_of(opened())
    places.begin(writable=True)
    for name in (".envrc", ".envrc.held"):
        (workspace / name).touch()
    assert "It can't be moved aside: there are too many .envrc.held" in places.end()[0]
