"""Distributions written by hand: what pip would have installed, for tests that need many."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

PREFIX: Final = "pegboard-"
NO_FILES: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dist:
    """A distribution on disk.

    Args:
        folder: The folder to put on `sys.path` (or `PYTHONPATH`).
        name: Name of the distribution.
        version: Its version.
        id: Plugin id, the name of its entry point.
        package: Name of its import package.
        entry: Value of its entry point, `module:object`.
    """

    folder: Path
    name: str
    version: str
    id: str
    package: str
    entry: str

    @property
    def info(self) -> Path:
        """Its `.dist-info` folder."""
        return self.folder / f"{self.name.replace('-', '_')}-{self.version}.dist-info"

    @property
    def code(self) -> Path:
        """The module that holds the plugin object."""
        return self.folder / self.package / "plugin.py"

    @property
    def manifest(self) -> Path:
        """Where its manifest is, or would be."""
        return self.folder / self.package / "plugin.json"


def make_dist(
    folder: Path,
    name: str = "pegboard-sample",
    *,
    id: str | None = None,
    version: str = "1.0.0",
    package: str | None = None,
    entry: str | None = None,
    code: str | None = None,
    manifest: Mapping[str, Any] | str | None = None,
    requires: Sequence[str] = ("pegboard>=0.1,<1",),
    files: Mapping[str, str] = NO_FILES,
    readme: str = "# A generated plugin\n",
) -> Dist:
    """Write a distribution with one plugin into `folder`, as an installer leaves it.

    Args:
        folder: A folder for `sys.path`; made when missing. Several distributions may share it.
        name: Name of the distribution.
        id: Plugin id; None = the name without `pegboard-`.
        version: Its version.
        package: Import package; None = the name with underscores.
        entry: Entry point; None = `<package>.plugin:plugin`.
        code: Source of `<package>/plugin.py`; None = a plugin with the tool `<id>_hello`.
        manifest: A manifest as data, as the text of the file, or None for no manifest at all.
            `built(dist)` writes the real one.
        requires: `Requires-Dist` lines.
        files: Further files by their path below `folder`.
        readme: Long description.
    """
    plugin_id = id if id is not None else name.removeprefix(PREFIX)
    where = package or name.replace("-", "_")
    dist = Dist(
        folder=folder,
        name=name,
        version=version,
        id=plugin_id,
        package=where,
        entry=entry or f"{where}.plugin:plugin",
    )
    written = {
        f"{where}/__init__.py": "",
        f"{where}/plugin.py": hello_code(plugin_id) if code is None else code,
        **files,
    }
    if manifest is not None:
        written[f"{where}/plugin.json"] = (
            manifest if isinstance(manifest, str) else _json_text(manifest)
        )
    for path, text in written.items():
        _write(folder / path, text)
    _write_info(dist, requires, readme, [folder / path for path in written])
    return dist


def built(dist: Dist) -> Dist:
    """Write the real manifest of a generated distribution, by importing it in a child process."""
    from pegboard.plugins.building.build_child import BuildTarget, build_in_child, write

    target = BuildTarget(id=dist.id, entry=dist.entry, source=dist.folder, file=dist.manifest)
    write(target, build_in_child(target))
    return dist


def hello_code(plugin_id: str, *, before: str = "", after: str = "") -> str:
    """Return the source of a plugin with one tool, `<id>_hello`.

    Args:
        plugin_id: Id of the plugin.
        before: Lines that run before anything else.
        after: Lines that run when the plugin is complete.
    """
    return f'''{before}
from pegboard import Plugin

plugin = Plugin(summary="Says hello")


@plugin.tool(effects=())
async def {_tool(plugin_id)}() -> str:
    """Say hello."""
    return "hello from {plugin_id}"


{after}
'''


def hello_manifest(plugin_id: str, entry: str, **changes: Any) -> dict[str, Any]:
    """Return the manifest of the plugin that `hello_code` writes.

    Args:
        plugin_id: Id of the plugin.
        entry: Value of its entry point.
        changes: Keys to replace or add.
    """
    tool = {
        "name": _tool(plugin_id),
        "description": "Say hello.",
        "category": "general",
        "effects": [],
        "parameters": {"additionalProperties": False, "properties": {}, "type": "object"},
    }
    return {
        "manifest": 1,
        "id": plugin_id,
        "api": ">=1,<2",
        "summary": "Says hello",
        "entry": entry,
        "activate": "use",
        "hooks": {},
        "tools": [tool],
        "contributions": [],
        "families": [],
        "config": None,
        "config_ref": None,
        "secrets": [],
        "needs": {},
        "services": [],
        "background": [],
        "lifespan": False,
        "before": [],
        "after": [],
        **changes,
    }


def _tool(plugin_id: str) -> str:
    return f"{plugin_id.replace('-', '_')}_hello"


def _write_info(dist: Dist, requires: Sequence[str], readme: str, files: list[Path]) -> None:
    head = ["Metadata-Version: 2.4", f"Name: {dist.name}", f"Version: {dist.version}"]
    head += [f"Requires-Dist: {line}" for line in requires]
    head.append("Description-Content-Type: text/markdown")
    points = f"[pegboard.plugins]\n{dist.id} = {dist.entry}\n"
    own = {
        "METADATA": "\n".join(head) + f"\n\n{readme}",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "INSTALLER": "pegboard-testing\n",
        "entry_points.txt": points,
    }
    for name, text in own.items():
        _write(dist.info / name, text)
    listed = [*files, *(dist.info / name for name in own)]
    lines = [_record(path, dist.folder) for path in listed]
    lines.append(f"{dist.info.name}/RECORD,,")
    _write(dist.info / "RECORD", "\n".join(lines) + "\n")


def _record(path: Path, folder: Path) -> str:
    data = path.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path.relative_to(folder).as_posix()},sha256={digest},{len(data)}"


def _json_text(manifest: Mapping[str, Any]) -> str:
    return json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
