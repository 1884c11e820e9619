"""A real, empty virtual environment for each test, and the real command in it."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import sysconfig
import termios
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import pegboard
from pegboard.testing.dists import Dist, hello_code, hello_manifest, make_dist

CORE = Path(pegboard.__file__).parents[1]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Environment:
    """A virtual environment with core and its libraries, but no plugin, and a home of its own."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    @property
    def site(self) -> Path:
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        return self.folder / "venv" / "lib" / version / "site-packages"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def config(self) -> Path:
        return self.home / "config" / "config.toml"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def run(self, *words: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Ended:
        """Run `pegboard WORDS` and return how it ended."""
        return self.python_run(["-m", "pegboard", *words], stdin=stdin, env=env)

    def python_run(
        self, words: Sequence[str], *, stdin: str = "", env: Mapping[str, str] | None = None
    ) -> Ended:
        """Run the interpreter of this environment."""
        done = subprocess.run(
            [str(self.python), *words],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=self.work,
            env={**self.env, **(env or {})},
            timeout=120,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def in_terminal(
        self,
        *words: str,
        typed: str = "",
        after: str = "",
        env: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run `pegboard WORDS` in a terminal of 60 columns; `out` is all that it shows.

        Args:
            words: The command.
            typed: What the person types.
            after: What they wait for before they type.
            env: Further variables.
        """
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        process = subprocess.Popen(
            [str(self.python), "-m", "pegboard", *words],
            env={**self.env, "TERM": "xterm", **(env or {})},
            cwd=self.work,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        shown, keys = b"", typed.encode()
        while True:
            if keys and after.encode() in shown:
                os.write(ours, keys)
                keys = b""
            piece = _read(ours)
            if not piece:
                break
            shown += piece
        os.close(ours)
        return Ended(process.wait(60), shown.decode().replace("\r\n", "\n"), "")

    def write_config(self, text: str) -> None:
        """Write the user's settings."""
        self.config.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.config.write_text(textwrap.dedent(text), encoding="utf-8")

    def plugin(self, plugin_id: str, **facts: Any) -> Dist:
        """Install a plugin whose import raises; keywords are those of `make_dist`."""
        facts.setdefault("code", "raise RuntimeError('imported')\n")
        facts.setdefault("name", f"pegboard-{plugin_id}")
        dist = make_dist(
            self.site,
            id=plugin_id,
            manifest=None,
            **{key: value for key, value in facts.items() if key != "manifest"},
        )
        manifest = facts.get("manifest", {})
        if manifest is None:
            return dist
        text = (
            manifest
            if isinstance(manifest, str)
            else hello_manifest(plugin_id, dist.entry, **manifest)
        )
        return make_dist(self.site, id=plugin_id, **{**facts, "manifest": text})

    def working_plugin(self, plugin_id: str = "weather") -> Dist:
        """Install a plugin that works, with the tool `<id>_hello`."""
        return self.plugin(plugin_id, code=hello_code(plugin_id))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # how Linux says that the other side is closed
        return b""


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with everything that is installed here but Pegboard's own packages."""
    folder = tmp_path_factory.mktemp("libraries")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if path.suffix != ".pth" and not path.name.startswith(("pegboard_", "__", "_pegboard")):
            (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture
def here(tmp_path: Path, libraries: Path) -> Environment:
    """Return an empty environment."""
    environment = Environment(tmp_path)
    python = Path(getattr(sys, "_base_executable", sys.executable))
    environment.python.parent.mkdir(parents=True)
    environment.python.symlink_to(python)
    environment.site.mkdir(parents=True)
    environment.work.mkdir()
    settings = f"home = {python.parent}\ninclude-system-site-packages = false\n"
    (tmp_path / "venv" / "pyvenv.cfg").write_text(settings, encoding="utf-8")
    (environment.site / "libraries.pth").write_text(f"{libraries}\n{CORE}\n", encoding="utf-8")
    environment.env = {
        "PATH": f"{environment.python.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path / "nobody"),
        "PEGBOARD_HOME": str(environment.home),
        "PYTHONPYCACHEPREFIX": str(libraries.parent / "bytecode"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    return environment
