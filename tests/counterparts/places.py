"""Where the counterparts are on this machine, or why one is not."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "build"
MODEL = BUILD / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
AIMOCK = BUILD / "aimock" / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
PACKAGES = "pip install -c constraints.txt -r requirements-dev.txt"
INSTALL = "python tests/counterparts/install.py"
NODE = 20


def no_llmock() -> str | None:
    """Return why llmock can't be started, or None."""
    return None if find_spec("llmock") else f"llmock is not installed: {PACKAGES}"


def no_aimock() -> str | None:
    """Return why aimock can't be started, or None."""
    reason = no_node()
    if reason is None and not AIMOCK.is_file():
        reason = f"aimock is not installed: {INSTALL}"
    return reason


def no_node() -> str | None:
    """Return why there is no Node.js that aimock runs on, or None."""
    node = shutil.which("node")
    if node is None:
        return f"Node.js {NODE} or newer is not on PATH"
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)", told)
    if found is None or int(found[1]) < NODE:
        return f"Node.js {NODE} or newer is not on PATH: {node} is {told.strip() or 'broken'}"
    return None


def no_llama() -> str | None:
    """Return why llama.cpp's server can't be started, or None."""
    if not find_spec("xllamacpp"):
        return f"xllamacpp is not installed: {PACKAGES} (there is a wheel for most systems)"
    return None if MODEL.is_file() else f"the model's weights are not there: {INSTALL}"
