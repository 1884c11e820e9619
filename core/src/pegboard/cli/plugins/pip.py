"""The pip of this environment, which installs and removes what was inspected."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pegboard.cli.child import run_child
from pegboard.cli.output import Output
from pegboard.cli.plugins.pip_failures import bare, is_unexplained, reason
from pegboard.contracts.errors import PluginError, UsageError
from pegboard.plugins.discovery.first_party import FIRST_PARTY

Kind = Literal["wheel", "sdist", "folder", "address", "name"]

_NAME: Final = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?P<extras>\[[A-Za-z0-9._, -]*\])?"
    r"(?P<version>\s*(?:[<>=!~].*)?)"
)
_ARCHIVES: Final = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")
_PIP: Final = (sys.executable, "-P", "-m", "pip")
"""-P: a file in the current folder shall not stand in for pip."""
_TAIL: Final = 12
"""Lines of pip's words that are shown when it fails."""


class Target(NamedTuple):
    """What a person wants to install: text as pip takes it, and what kind of thing it is."""

    text: str
    kind: Kind
    extras: str = ""


def target_of(text: str) -> Target:
    """Say what `text` is, by looking at its form and at the file system.

    Raises:
        UsageError: When it is a path to nothing, or nothing that pip could mean.
    """
    path = Path(text).expanduser()
    if path.is_dir():
        return Target(str(path), "folder")
    if path.is_file() and path.suffix == ".whl":
        return Target(str(path), "wheel")
    if path.is_file() and path.name.endswith(_ARCHIVES):
        return Target(str(path), "sdist")
    if "://" in text or text.startswith("git+"):
        return Target(text, "address")
    named = _NAME.fullmatch(text.strip())
    if named is None or text.endswith((".whl", *_ARCHIVES)):
        raise UsageError(
            f"{text!r} is no wheel, folder or package name that exists.",
            fix="pegboard plugins install pegboard-NAME",
        )
    return Target(f"{named['name']}{named['version']}", "name", named["extras"] or "")


class Pip:
    """Runs `python -m pip` of the interpreter that runs Pegboard.

    Args:
        output: Shows progress, and pip's last words when it fails.
        env: Environment of the child processes.

    Raises:
        PluginError: When this environment has no pip.
    """

    def __init__(self, output: Output, env: Mapping[str, str]) -> None:
        if find_spec("pip") is None:
            raise PluginError(
                f"There is no pip in the environment of {sys.executable}.",
                fix=f"{sys.executable} -m ensurepip",
            )
        self.output = output
        self.env = env

    def download(self, name: str, folder: Path) -> Path:
        """Fetch the wheel of a package, without its dependencies, and return its path.

        Raises:
            PluginError: When there is no such package, or it has no wheel.
        """
        words = ["download", "--no-deps", "--only-binary=:all:", "--dest", str(folder), name]
        self._run(words, f"Downloading {name}", name)
        return self._wheel(folder)

    def build(self, source: str, folder: Path) -> Path:
        """Build a wheel, which runs the code of the source, and return its path.

        Raises:
            PluginError: When it can't be built.
        """
        words = ["wheel", "--no-deps", "--wheel-dir", str(folder), source]
        self._run(words, f"Building {source}", source)
        return self._wheel(folder)

    def install(self, *what: str, reinstall: bool = False) -> None:
        """Install wheels or folders with their dependencies.

        Raises:
            PluginError: With pip's last words when it refuses.
        """
        again = ["--force-reinstall", "--no-deps"] if reinstall else []
        self._run(["install", *again, *what], f"Installing {Path(what[-1]).name}")

    def uninstall(self, dist: str) -> None:
        """Remove a distribution.

        Raises:
            PluginError: With pip's last words when it refuses.
        """
        self._run(["uninstall", "--yes", dist], f"Uninstalling {dist}")

    def check(self) -> list[str]:
        """Return what pip finds inconsistent between the installed packages, one line each."""
        done = run_child(
            [*_PIP, "check", "--disable-pip-version-check"],
            "Checking requirements",
            self.output,
            env=self.env,
        )
        return [] if done.returncode == 0 else done.stdout.split("\n")

    def _run(self, words: list[str], label: str, name: str = "") -> None:
        """Run pip.

        Args:
            words: Its command and arguments.
            label: What is being done.
            name: The package that is asked for, if it is one of an index.

        Raises:
            PluginError: Why it failed and what to do, or its last words where that is not known.
        """
        command, *rest = words
        argv = [*_PIP, command, "--no-input", "--disable-pip-version-check", *rest]
        done = run_child(argv, label, self.output, env=self.env)
        if done.returncode == 0:
            return
        said = f"{done.stdout}\n{done.stderr}"
        asked = self._asked(bare(name)) if name and is_unexplained(said) else ""
        why = reason(name, said, asked, FIRST_PARTY)
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()[-_TAIL:]
        if why is not None:
            raise PluginError(why.message, fix=why.fix, output="\n".join(lines))
        raise PluginError(f"pip {command} failed:\n" + "\n".join(lines))

    def _asked(self, name: str) -> str:
        """Return what pip knows of a package's versions, those that are source only too."""
        argv = [*_PIP, "index", "versions", "-vv", "--no-input", "--pre", name]
        done = run_child(argv, f"Asking for the versions of {name}", self.output, env=self.env)
        return f"{done.stdout}\n{done.stderr}"

    def _wheel(self, folder: Path) -> Path:
        wheels = sorted(folder.glob("*.whl"))
        if len(wheels) != 1:
            raise PluginError(f"pip left {len(wheels)} wheels in {folder} where one was expected.")
        return wheels[0]
