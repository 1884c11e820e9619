from __future__ import annotations

import pytest

from pegboard.sandboxes.paths import split
from pegboard.sandboxes.roots import unsafe_root

HOME = split("/home/ann")
OWN = (split("/home/ann/.config/pegboard"),)


def reason(path: str, mode: str = "rw") -> str | None:
    return unsafe_root(split(path), "rw" if mode == "rw" else "ro", home=HOME, protected=OWN)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/", "contains your home"),
        ("/home", "contains your home"),
        ("/home/ann", "your home directory"),
        ("/HOME/Ann", "your home directory"),
        ("/root", "root of the system"),
        ("/var", "root of the system"),
        ("/opt", "root of the system"),
        ("/run", "root of the system"),
        ("/Users", "root of the system"),
        ("/private/var", "root of the system"),
        ("/etc", "operating system"),
        ("/etc/nginx", "only to be read"),
        ("/usr/lib/python3", "only to be read"),
        ("/proc/1", "devices and processes"),
        ("/dev/shm", "devices and processes"),
        ("/sys", "devices and processes"),
        ("/home/ann/.config/pegboard/x", "belongs to Pegboard"),
    ],
)
def test_an_unsafe_folder_is_refused_with_its_reason(path: str, words: str) -> None:
    assert words in (reason(path) or "")


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        ("/home/ann/project", "rw"),
        ("/Users/ann/project", "rw"),
        ("/tmp/x", "rw"),
        ("/var/www", "rw"),
        ("/opt/app", "rw"),
        ("/usr/src/linux", "rw"),
        ("/usr/share/doc", "ro"),
        ("/etc/nginx", "ro"),
        ("/home/ann/.config", "rw"),
    ],
)
def test_an_ordinary_folder_can_be_granted(path: str, mode: str) -> None:
    assert reason(path, mode) is None
