"""Run Python as an ordinary user from a test run of root, whose own folders may be closed to it."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

USER: Final = 60_999
NAME: Final = "somebody"
REPOSITORY: Final = Path(__file__).resolve().parents[2]


def why_not() -> str | None:
    """Return why nobody else can be played here, or None."""
    if os.getuid() != 0:
        return "these tests run as an ordinary user already"
    missing = [name for name in ("unshare", "setpriv", "mount") if shutil.which(name) is None]
    if missing:
        return f"no program {missing[0]} here (util-linux)"
    ran = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return None if ran.returncode == 0 else f"unshare: {ran.stderr.decode().strip()}"


def run_as_user(arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run this Python as a user that the machine does not have, with a home in `folder`.

    What it needs is opened to it in a mount namespace of its own; the machine is not changed.

    Args:
        arguments: What follows `python`.
        folder: A folder below /tmp; it is given to that user.
    """
    home = folder / "home"
    home.mkdir(parents=True)
    for path in (folder, home):
        os.chown(path, USER, USER)
    drop = f"setpriv --reuid {USER} --regid {USER} --clear-groups"
    script = "\n".join(
        [
            "set -e",
            *_openings(folder / "stash"),
            *_login(folder, home),
            f"exec {drop} {shlex.join([sys.executable, *arguments])}",
        ]
    )
    with _runtime() as runtime:
        return subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
            cwd=REPOSITORY,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "TMPDIR": str(folder),
                "XDG_RUNTIME_DIR": str(runtime),
                "LANG": "C.UTF-8",
                "PYTHONDONTWRITEBYTECODE": "1",
                "STORAGE_DRIVER": "overlay",  # else Podman copies the image for each container
                **{name: os.environ[name] for name in ("PEGBOARD_CI",) if name in os.environ},
            },
            capture_output=True,
            text=True,
            check=False,
        )


@contextmanager
def _runtime() -> Iterator[Path]:
    """Make the folder that a login has for what runs, and end what Podman leaves running there.

    Its path is short: where it is longer than Podman likes, each command takes 20 seconds more.
    """
    made = Path(tempfile.mkdtemp(prefix="run-", dir="/tmp"))
    os.chown(made, USER, USER)
    try:
        yield made
    finally:
        for kept in made.rglob("pause.pid"):
            with suppress(ProcessLookupError, ValueError):
                os.kill(int(kept.read_text()), signal.SIGKILL)
        shutil.rmtree(made)


def _login(folder: Path, home: Path) -> list[str]:
    """Return the command that gives the user a shell and that home, as far as logins look."""
    accounts = Path("/etc/passwd").read_text().splitlines()
    own = f"{NAME}:x:{USER}:{USER}::{home}:/bin/sh"
    (folder / "passwd").write_text("\n".join([*accounts, own, ""]))
    return [f"mount --bind {shlex.quote(str(folder / 'passwd'))} /etc/passwd"]


def _openings(stashes: Path) -> list[str]:
    """Return the commands that lay an open folder over each closed one, with what is needed."""
    needed = {os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, REPOSITORY)}
    closed: dict[str, list[str]] = {}
    for path in sorted(needed):
        top = _closed_above(path)
        if top is not None:
            closed.setdefault(top, []).append(path)
    lines = []
    for top, paths in closed.items():
        for number, path in enumerate(paths):
            stash = shlex.quote(f"{stashes}{number}")
            lines += [f"mkdir -p {stash}", f"mount --bind {shlex.quote(path)} {stash}"]
        lines.append(f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(top)}")
        for number, path in enumerate(paths):
            place, stash = shlex.quote(path), shlex.quote(f"{stashes}{number}")
            lines += [f"mkdir -p {place}", f"mount --bind {stash} {place}"]
    return lines


def _closed_above(path: str) -> str | None:
    """Return the outermost folder above a path that others may not enter."""
    for folder in reversed(Path(path).parents):
        if not folder.stat().st_mode & 0o001:
            return str(folder)
    return None
