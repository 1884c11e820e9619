"""What an agent may ask for is less than what a person may grant."""

from __future__ import annotations

from pathlib import Path

import pytest

from pegboard.sandboxes import refused_grant


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home" / "me"
    (folder / "notes").mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    ("path", "mode", "reason"),
    [
        ("/", "ro", "it contains your home directory"),
        ("/etc", "ro", "it is a folder of the operating system"),
        ("/usr/lib", "rw", "it belongs to the operating system"),
        ("/proc/self", "ro", "it holds devices"),
        ("/var", "ro", "it is a root of the system"),
        ("/home/somebody", "ro", "it is somebody's home directory"),
        ("/Users/Somebody", "ro", "it is somebody's home directory"),
        ("/home/somebody/.ssh", "ro", "it holds secrets"),
        ("/srv/backup/.gnupg/private", "ro", "it holds secrets"),
        ("/srv/project/.git", "rw", "it decides what programs run"),
        ("/srv/project/.git/hooks", "rw", "it decides what programs run"),
        ("/srv/project/.GIT", "rw", "it decides what programs run"),
    ],
)
def test_what_nobody_should_be_talked_into_is_refused(home, path, mode, reason):
    assert refused_grant(Path(path), mode, home=home).startswith(reason)


def test_what_is_the_persons_own_is_refused_where_it_is_secret(home):
    assert refused_grant(home, "ro", home=home) == "it is your home directory"
    for secret in (".ssh", ".aws/x", ".config/gh", ".mozilla/firefox"):
        assert refused_grant(home / secret, "ro", home=home) == "it holds secrets"
    for ordinary in ("notes", ".config", "photos/2024"):
        assert refused_grant(home / ordinary, "rw", home=home) is None


def test_ordinary_folders_are_not_refused(home):
    for path, mode in (("/srv/photos", "rw"), ("/usr/lib", "ro"), ("/srv/project/.git", "ro")):
        assert refused_grant(Path(path), mode, home=home) is None
    assert refused_grant(Path("/home/somebody/shared"), "rw", home=home) is None


def test_links_are_followed_and_protected_places_stay_closed(home, tmp_path):
    (home / "link").symlink_to(home / ".ssh")
    assert refused_grant(home / "link", "ro", home=home) == "it holds secrets"
    own = tmp_path / "state"
    own.mkdir()
    (home / "state").symlink_to(own)
    refused = refused_grant(home / "state", "ro", protected=[own], home=home)
    assert refused == "it belongs to Pegboard itself"
    assert refused_grant(tmp_path / "state2", "ro", protected=[own], home=home) is None


def test_the_home_folder_is_that_of_the_system_unless_told(home, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    assert refused_grant(home, "ro") == "it is your home directory"
