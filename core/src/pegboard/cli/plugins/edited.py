"""Whether an installed manifest is still the one that was inspected before the install."""

from __future__ import annotations

import base64
import csv
import hashlib
from pathlib import Path

_FILE = "plugin.json"


def edited_manifest(dist_info: Path) -> Path | None:
    """Return the manifest of a distribution when its hash is not the one that RECORD states.

    Args:
        dist_info: The distribution's metadata folder; without a RECORD there is nothing to compare.
    """
    try:
        with (dist_info / "RECORD").open(encoding="utf-8", newline="") as lines:
            rows = [row for row in csv.reader(lines) if len(row) > 1 and row[1]]
    except OSError:
        return None
    for name, stated, *_ in rows:
        path = dist_info.parent / name
        if path.name == _FILE and path.is_file() and _hash(path) != stated:
            return path
    return None


def _hash(path: Path) -> str:
    digest = hashlib.sha256(path.read_bytes()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
