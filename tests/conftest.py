"""Fixtures for tests that span packages: a virtual environment of one's own, without network."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Overlay:
    """A virtual environment that sees the packages of the tests' own, and installs into itself."""

    bin: Path
    home: Path

    def environment(self) -> dict[str, str]:
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("PEGBOARD", "PYTHON", "PIP"))
        }
        return kept | {
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "VIRTUAL_ENV": str(self.bin.parent),
            "PEGBOARD_HOME": str(self.home),
            # pip builds with the hatchling that is already here, and asks no index
            "PIP_NO_BUILD_ISOLATION": "off",
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_ROOT_USER_ACTION": "ignore",
            "NO_COLOR": "1",
            "COLUMNS": "200",
        }

    def run(
        self,
        *argv: str,
        cwd: Path | None = None,
        stdin: str | None = None,
        env: dict[str, str] | None = None,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv,
            cwd=cwd,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            env=self.environment() | (env or {}),
            text=True,
            capture_output=True,
            timeout=timeout,
            check=False,
        )


def make_overlay(folder: Path) -> Overlay:
    """Create the environment in `folder`; its pip is the tests' own, which takes no time."""
    venv.create(folder / "env", symlinks=True)
    scripts = folder / "env" / "bin"
    python = scripts / "python"
    site = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    ).strip()
    # site.addsitedir also reads the .pth files of editable installs; a bare path line would not
    line = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (Path(site) / "overlay.pth").write_text(line, encoding="utf-8")
    for name, module in (("pegboard", "pegboard.cli.main"), ("pip", "pip._internal.cli.main")):
        launcher = scripts / name
        launcher.write_text(
            f"#!{python}\nimport sys\nfrom {module} import main\nsys.exit(main())\n",
            encoding="utf-8",
        )
        launcher.chmod(0o755)
    return Overlay(scripts, folder / "home")


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture
def overlay(tmp_path: Path) -> Iterator[Overlay]:
    if sys.platform == "win32":
        pytest.skip("needs a POSIX virtual environment layout")
    yield make_overlay(tmp_path)
