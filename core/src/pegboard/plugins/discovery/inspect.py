"""Look into a wheel, a folder or an installed plugin without running any of its code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from pegboard.config.nearest import did_you_mean
from pegboard.contracts.errors import ManifestError, UsageError
from pegboard.plugins.discovery.dist_info import GROUP, normalized, read_metadata, read_sections
from pegboard.plugins.discovery.manifest import FILE_NAME, Manifest, parse
from pegboard.plugins.discovery.scan import FoundPlugin, scan
from pegboard.plugins.discovery.wheel_files import (
    STARTUP_MODULES,
    is_script,
    overwriting,
    packages,
    place,
    runs_at_start,
)

SCRIPT_GROUPS: Final = ("console_scripts", "gui_scripts")
_LARGEST_FILE: Final = 4_000_000

ReadManifest = Callable[[str], tuple[str, str] | None]
"""Return path and text of the manifest that a host would read for an entry point, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What installing a distribution brings.

    Args:
        target: What was looked at.
        source: `wheel`, `folder` or `installed`.
        dist, version: Of the distribution; a version that a build makes up is "".
        plugins: Plugin id -> entry point.
        manifests: Plugin id -> manifest, for those that have one.
        requires: `Requires-Dist` lines.
        scripts: Commands put on PATH: name -> what they run.
        entry_points: All other entry points: group -> name -> value.
        startup_files: `.pth` files and the like, whose code runs whenever Python starts.
        packages: Top-level modules it installs, when that can be told.
        problems: What is wrong or worth a look.
    """

    target: str
    source: str
    dist: str
    version: str
    plugins: Mapping[str, str]
    manifests: Mapping[str, Manifest]
    requires: tuple[str, ...] = ()
    scripts: Mapping[str, str] = field(default_factory=dict)
    entry_points: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    startup_files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def effects(self) -> dict[str, tuple[str, ...] | None]:
        """Return the effects of each tool and family; None = unknown, the most dangerous."""
        found: dict[str, tuple[str, ...] | None] = {}
        for plugin_id, manifest in sorted(self.manifests.items()):
            for tool in manifest.tools:
                declared = tool.get("effects")
                found[f"{plugin_id}:{tool['name']}"] = (
                    None if declared is None else tuple(sorted(declared))
                )
            for family in manifest.families:
                ceiling = None if family.effects is None else tuple(sorted(family.effects))
                found[f"{plugin_id}:{family.prefix}*"] = ceiling
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the form that `--json` shows."""
        return {
            "target": self.target,
            "source": self.source,
            "dist": self.dist,
            "version": self.version,
            "plugins": dict(self.plugins),
            "manifests": {name: item.to_dict() for name, item in self.manifests.items()},
            "effects": {
                name: None if effects is None else list(effects)
                for name, effects in self.effects.items()
            },
            "requires": list(self.requires),
            "scripts": dict(self.scripts),
            "entry_points": {group: dict(items) for group, items in self.entry_points.items()},
            "startup_files": list(self.startup_files),
            "packages": list(self.packages),
            "problems": list(self.problems),
        }


def inspect(target: str, path: Sequence[str] | None = None) -> Inspection:
    """Look into a wheel file, a source folder, or an installed plugin or distribution.

    Args:
        target: A path, or a name.
        path: Where installed plugins are looked for; None = `sys.path`.

    Raises:
        UsageError: When there is no such thing, or it is none of the three.
    """
    file = Path(target)
    if file.suffix == ".whl":
        return _wheel(file)
    if file.is_dir():
        return _folder(file)
    if file.is_file() or file.name.endswith((".tar.gz", ".zip")):
        raise UsageError(
            f"{target} is neither a wheel nor a folder; building a source archive runs its code",
            fix=f"pip wheel --no-deps {target}",
        )
    return _installed(target, path)


def _wheel(file: Path) -> Inspection:
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            places = {place(name): name for name in names}

            def read(path: str) -> str | None:
                name = places.get(path)
                if name is None or archive.getinfo(name).file_size > _LARGEST_FILE:
                    return None
                return archive.read(name).decode("utf-8", "replace")

            def manifest(value: str) -> tuple[str, str] | None:
                folder = _deepest(
                    value, lambda path: any(item.startswith(f"{path}/") for item in places)
                )
                text = None if folder is None else read(f"{folder}/{FILE_NAME}")
                return None if text is None else (f"{folder}/{FILE_NAME}", text)

            heads = [
                name
                for name in names
                if name.endswith(".dist-info/METADATA") and name.count("/") == 1
            ]
            if len(heads) != 1:
                raise UsageError(
                    f"{file} is no wheel: it has {len(heads)} METADATA files instead of one",
                    fix=f"pip wheel --no-deps {file.name.partition('-')[0]}",
                )
            info = heads[0].removesuffix("METADATA")
            meta = read_metadata(read(heads[0]) or "", info.rstrip("/"))
            sections = read_sections(read(f"{info}entry_points.txt") or "")
            inspection = _made(
                str(file),
                "wheel",
                meta.name,
                meta.version,
                meta.requires,
                sections,
                names,
                manifest,
                overwriting(names),
            )
    # zipfile raises the last two for a compression it does not know, and for an encrypted file
    except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise UsageError(f"{file} can't be read as a wheel: {error}", fix="pip wheel .") from error
    return inspection


def _folder(folder: Path) -> Inspection:
    import tomllib

    file = folder / "pyproject.toml"
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError as error:
        raise UsageError(
            f"{folder} has no pyproject.toml, so it is no plugin's folder",
            fix="pegboard plugins new NAME",
        ) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file} can't be read: {error}", fix=f"mend {file}") from error
    project = _table(data.get("project"))
    sections = {
        "console_scripts": _texts(project.get("scripts")),
        "gui_scripts": _texts(project.get("gui-scripts")),
        **{name: _texts(items) for name, items in _table(project.get("entry-points")).items()},
    }
    root = folder / "src" if (folder / "src").is_dir() else folder
    files = [item.relative_to(root) for item in sorted(root.rglob("*.pth"))]
    # what hides, an environment say, is not part of what is built
    names = [file.as_posix() for file in files if not any(part[0] == "." for part in file.parts)]
    names += [name for name in STARTUP_MODULES if (root / name).exists()]

    def manifest(value: str) -> tuple[str, str] | None:
        inner = _deepest(value, lambda path: (root / path).is_dir())
        return None if inner is None else _text_of(root / inner / FILE_NAME)

    return _made(
        str(folder),
        "folder",
        str(project.get("name", "")),
        str(project.get("version", "")),
        tuple(str(item) for item in _list(project.get("dependencies"))),
        sections,
        names,
        manifest,
    )


def _installed(target: str, path: Sequence[str] | None) -> Inspection:
    everything = scan(path)
    wanted = normalized(target)
    found = next(
        (item for item in everything if item.id == target or normalized(item.dist) == wanted), None
    )
    if found is None:
        names = {name for item in everything for name in (item.id, item.dist)}
        raise UsageError(
            f"{target!r} is no wheel, no folder and no installed plugin"
            f"{did_you_mean(target, names)}",
            fix="pegboard plugins list",
        )
    return inspect_found(found, path)


def inspect_found(found: FoundPlugin, path: Sequence[str] | None = None) -> Inspection:
    """Look into an installed plugin that a scan has found."""
    from pegboard.plugins.discovery.installed_files import installed_files
    from pegboard.plugins.discovery.manifest_place import package_folder

    def manifest(value: str) -> tuple[str, str] | None:
        try:
            folder = package_folder(value, path)
        except ModuleNotFoundError:
            return None
        return None if folder is None else _text_of(Path(folder, FILE_NAME))

    points = found.location / "entry_points.txt"
    text = points.read_text("utf-8", "replace") if points.is_file() else ""
    return _made(
        found.dist,
        "installed",
        found.dist,
        found.version,
        found.requires,
        read_sections(text),
        installed_files(found.location),
        manifest,
    )


def _made(
    target: str,
    source: str,
    dist: str,
    version: str,
    requires: tuple[str, ...],
    sections: Mapping[str, Mapping[str, str]],
    names: Sequence[str],
    text_of: ReadManifest,
    problems: Iterable[str] = (),
) -> Inspection:
    plugins = dict(sections.get(GROUP, {}))
    manifests: dict[str, Manifest] = {}
    problems = list(problems)
    for plugin_id, value in plugins.items():
        try:
            file = text_of(value)
            manifest = None if file is None else parse(file[1], file[0])
        except ManifestError as error:
            problems.append(f"the manifest of {plugin_id} can't be used: {error.message}")
            continue
        if manifest is None:
            problems.append(f"{plugin_id} has no {FILE_NAME}: only running it tells what it brings")
        else:
            manifests[plugin_id] = manifest
    if not plugins:
        problems.append(f"it has no entry point in the group {GROUP}, so it is no plugin")
    startup = tuple(name for name in names if runs_at_start(name))
    problems.extend(f"{name} runs code whenever Python starts" for name in startup)
    scripts = {
        name: value for group in SCRIPT_GROUPS for name, value in sections.get(group, {}).items()
    }
    scripts.update({PurePosixPath(name).name: "a file" for name in names if is_script(name)})
    return Inspection(
        target=target,
        source=source,
        dist=dist,
        version=version,
        plugins=plugins,
        manifests=manifests,
        requires=requires,
        scripts=scripts,
        entry_points={
            group: dict(items)
            for group, items in sections.items()
            if items and group != GROUP and group not in SCRIPT_GROUPS
        },
        startup_files=startup,
        packages=tuple(sorted(set(packages(names)))),
        problems=tuple(problems),
    )


def _deepest(value: str, is_folder: Callable[[str], bool]) -> str | None:
    """Return the folder in which a host looks for the manifest of an entry point.

    Nowhere else: a manifest that a host would not read says nothing about what it runs.
    """
    parts = value.partition(":")[0].strip().split(".")
    folders = ("/".join(parts[:depth]) for depth in range(len(parts), 0, -1))
    return next((folder for folder in folders if is_folder(folder)), None)


def _text_of(file: Path) -> tuple[str, str] | None:
    return (str(file), file.read_text("utf-8", "replace")) if file.is_file() else None


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: Any) -> dict[str, str]:
    return {str(key): str(item) for key, item in _table(value).items()}
