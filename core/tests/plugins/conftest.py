"""Installed distributions, written by hand: what pip leaves in a folder, and nothing more."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pegboard.config.load import Config, load
from pegboard.config.paths import Paths
from pegboard.plugins.decision.boot import Boot, boot
from pegboard.plugins.decision.state import PluginRecord, State

BOOBY_TRAP = "raise SystemExit('boot imported a plugin')\n"


class Site:
    """A folder like site-packages. Modules in it must not be imported: they would end the run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def path(self) -> list[str]:
        return [str(self.folder)]

    def add(
        self,
        plugin_id: str,
        *,
        dist: str = "",
        version: str = "0.1.0",
        requires: Iterable[str] = (),
        manifest: Mapping[str, Any] | str | bytes | None = None,
        unmanifested: bool = False,
        module: str = "",
        metadata: str | bytes | None = None,
        entry_points: str | bytes | None = None,
        **facts: Any,
    ) -> Path:
        """Install a plugin; facts are those of its manifest. Returns its dist-info folder."""
        dist = dist or f"pegboard-{plugin_id}"
        module = module or dist.replace("-", "_").lower()
        package = self.folder / module
        package.mkdir(exist_ok=True)
        (package / "__init__.py").write_text(BOOBY_TRAP)
        (package / "plugin.py").write_text(BOOBY_TRAP)
        if not unmanifested:
            content = manifest if manifest is not None else manifest_of(plugin_id, module, **facts)
            data = content if isinstance(content, (str, bytes)) else json.dumps(content)
            (package / "plugin.json").write_bytes(data.encode() if isinstance(data, str) else data)
        info = self.folder / f"{dist.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        lines = [f"Requires-Dist: {line}" for line in requires]
        head = "\n".join(["Metadata-Version: 2.3", f"Name: {dist}", f"Version: {version}", *lines])
        write(info / "METADATA", head + "\n\nA plugin.\n" if metadata is None else metadata)
        own = f"[pegboard.plugins]\n{plugin_id} = {module}.plugin:plugin\n"
        write(info / "entry_points.txt", own if entry_points is None else entry_points)
        names = [f"{module}/__init__.py", f"{module}/plugin.py", f"{module}/plugin.json"]
        write(info / "RECORD", "".join(f"{name},,\n" for name in names))
        return info


def write(file: Path, content: str | bytes) -> None:
    file.write_bytes(content.encode() if isinstance(content, str) else content)


def manifest_of(plugin_id: str, module: str = "", **facts: Any) -> dict[str, Any]:
    module = module or f"pegboard_{plugin_id.replace('-', '_')}"
    return {"manifest": 1, "id": plugin_id, "entry": f"{module}.plugin:plugin", **facts}


class Machine:
    """A site folder, a home, and the boot that reads them."""

    def __init__(self, tmp_path: Path) -> None:
        self.site = Site(tmp_path / "site")
        home = tmp_path / "home"
        self.paths = Paths(home / "config", home / "state", home / "data", home / "cache")

    def config(self, text: str = "") -> Config:
        self.paths.config.mkdir(parents=True, exist_ok=True)
        self.paths.config_file.write_text(text)
        return load(self.paths, env={})

    def boot(self, config: str = "", **options: Any) -> Boot:
        options = {"env": {"PATH": "/usr/bin:/bin"}, "path": self.site.path, **options}
        return boot(self.config(config), **options)

    def only(self, booted: Boot, plugin_id: str = "web") -> PluginRecord:
        """Return one record; a state that can't be used always has a reason and a fix."""
        record = booted.record(plugin_id)
        assert record.state is State.READY or (record.reason and record.fix)
        return record


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "site")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)
