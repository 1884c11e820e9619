"""An installed plugin as a suite looks at it: its files, its manifest, its import in a child."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest

from pegboard.config.nearest import did_you_mean
from pegboard.plugins.building.build_child import BuildTarget, find_targets
from pegboard.plugins.discovery.manifest import Manifest, read
from pegboard.plugins.discovery.scan import FoundPlugin, scan

IMPORT_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Installed:
    """One installed plugin.

    Args:
        found: Where it is.
        path: Folders that come first on `sys.path`, for a plugin that is not installed for good.
    """

    found: FoundPlugin
    path: tuple[str, ...] = ()

    @property
    def manifest(self) -> Manifest:
        """What its `plugin.json` says."""
        manifest = read(self.found, self._folders)
        assert manifest is not None, (
            f"{self.found.id} has no plugin.json; run: pegboard plugins build"
        )
        return manifest

    @property
    def target(self) -> BuildTarget:
        """What `pegboard plugins build` builds."""
        (target,) = find_targets(self.found.id, path=self._folders)
        return target

    @property
    def readme(self) -> str:
        """Its README: that of the source folder when the install is editable."""
        source = _editable_source(self.found.location)
        if source is not None and (source / "README.md").is_file():
            return (source / "README.md").read_text(encoding="utf-8")
        metadata = self.found.location / "METADATA"
        text = metadata.read_text(encoding="utf-8") if metadata.is_file() else ""
        return text.partition("\n\n")[2]

    def imported(self) -> ImportReport:
        """Import it in a child process and return what that did."""
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.json")
            command = [sys.executable, "-P", "-m", "pegboard.testing.import_probe"]
            command += [self.found.value, str(report), *self.path]
            try:
                ended = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=IMPORT_LIMIT_S,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                pytest.fail(f"importing {self.found.value} did not end in {IMPORT_LIMIT_S:g} s")
            printed = (ended.stdout + ended.stderr).decode("utf-8", "replace")
            if not report.exists():
                pytest.fail(f"importing {self.found.value} ended the process: {printed[-2000:]}")
            data: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return ImportReport(printed=printed, **data)

    @property
    def _folders(self) -> tuple[str, ...] | None:
        return (*self.path, *sys.path) if self.path else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What importing a plugin did.

    Args:
        printed: What it wrote to standard output and standard error.
        error: The traceback, or "".
        modules: Modules that were loaded.
        changed: What of the process is not as it was, by name.
    """

    printed: str
    error: str
    modules: list[str]
    changed: dict[str, str]


def find(name: str, path: Sequence[str] = ()) -> Installed:
    """Return the plugin of an id, a distribution or an import package; fail when there is none."""
    folders = (*path, *sys.path) if path else None
    everything = scan(folders)
    found = [
        plugin
        for plugin in everything
        if name in (plugin.id, plugin.dist, plugin.value.partition(".")[0])
    ]
    if len(found) != 1:
        dists = " and ".join(plugin.dist for plugin in found)
        what = f"{dists} are all" if found else "nothing installed is"
        hint = did_you_mean(name, [plugin.id for plugin in everything])
        pytest.fail(f"{what} the plugin {name!r}{hint}", pytrace=False)
    return Installed(found[0], tuple(path))


def _editable_source(info: Path) -> Path | None:
    file = info / "direct_url.json"
    if not file.is_file():
        return None
    data = json.loads(file.read_text(encoding="utf-8"))
    if not data.get("dir_info", {}).get("editable"):
        return None
    return Path(unquote(urlparse(data["url"]).path))
