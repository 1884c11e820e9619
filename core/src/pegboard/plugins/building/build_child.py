"""Build, compare and write `plugin.json`: the plugin is imported in a child process only."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pegboard.config.nearest import did_you_mean
from pegboard.contracts.errors import BuildError
from pegboard.plugins.building.child_output import collect
from pegboard.plugins.discovery.manifest import Manifest
from pegboard.plugins.discovery.manifest_place import place
from pegboard.plugins.discovery.own_code import shown_file
from pegboard.plugins.discovery.scan import GROUP, scan

BUILD_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class BuildTarget:
    """What to build.

    Args:
        id: Plugin id.
        entry: Value of the entry point, `module:attr`.
        source: Folder that must come first on `sys.path`, or None for an installed plugin.
        file: Where its `plugin.json` belongs.
    """

    id: str
    entry: str
    source: Path | None
    file: Path


def find_targets(what: str | Path, *, path: Sequence[str] | None = None) -> list[BuildTarget]:
    """Return the plugins of a source folder (its pyproject.toml), or the installed one of that id.

    Args:
        what: A folder, its pyproject.toml, or a plugin id. A string that names a folder is one.
        path: Folders where installed plugins are looked for; None = `sys.path`.

    Raises:
        BuildError: When there is none, or the code is not where it is looked for.
    """
    folder = Path(what)
    if folder.name == "pyproject.toml":
        folder = folder.parent
    if folder.is_dir():
        return _in_folder(folder.resolve())
    if isinstance(what, Path) or "/" in what:
        raise BuildError(f"{what}: no such folder")
    return [_installed(what, path)]


def build_in_child(
    target: BuildTarget,
    *,
    path: Sequence[str] | None = None,
    timeout_s: float = BUILD_TIMEOUT_S,
    again: str = "build again",
) -> dict[str, Any]:
    """Import the plugin in a child process and return its manifest.

    Args:
        target: What to build.
        path: Folders that the child puts first on its `sys.path`.
        timeout_s: Seconds that the import may take.
        again: What an author does after an edit, in words for the fix of an error.

    Raises:
        BuildError: With the child's words when it fails, exits, hangs or prints nonsense.
    """
    folders = [*([str(target.source)] if target.source else []), *(path or ())]
    # -P: the current folder shall not decide what is imported
    command = [sys.executable, "-P", "-B", "-m", "pegboard.plugins.building.build"]
    command += ["--id", target.id, "--entry", target.entry]
    command += [part for folder in folders for part in ("--source", folder)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    output = collect(process, timeout_s=timeout_s)
    if output.timed_out:
        raise BuildError(
            f"plugin {target.id}: its import did not end within {timeout_s:g} s",
            fix="move work from module level into the lifespan or a background service",
            output=output.errors,
        )
    try:
        answer = json.loads(output.answer)
    except ValueError:
        status = process.returncode
        raise BuildError(
            f"plugin {target.id}: importing it ended the process "
            + (f"with signal {-status}" if status < 0 else f"with status {status}"),
            fix="a plugin must not exit when it is imported",
            output=output.errors,
        ) from None
    if "error" in answer:
        error = dict(answer["error"])
        message = error.pop("message")
        if not message.startswith(f"plugin {target.id}"):
            message = f"plugin {target.id}: {message}"
        fix = _mended(target, error.pop("fix", None), error, again)
        raise BuildError(message, fix=fix, output=output.errors, **error)
    built: dict[str, Any] = answer["manifest"]
    return built


def _mended(
    target: BuildTarget, fix: str | None, error: Mapping[str, Any], again: str
) -> str | None:
    """Return the fix with the file and line that the author has to look at."""
    if "file" not in error:
        last = target.entry.partition(":")[0].rpartition(".")[2]
        module = shown_file(str(target.file.with_name(f"{last}.py")))
        return fix or f"mend {module}, or the entry point in pyproject.toml, then {again}"
    place = f"{shown_file(error['file'])}:{error['line']}"
    if fix is None:
        return f"mend {place}, then {again}"
    return f"{fix}, or mend {place}" if fix.startswith("pip ") else f"mend {place}: {fix}"


def write(target: BuildTarget, manifest: Mapping[str, Any]) -> bool:
    """Write `plugin.json`, sorted and stable; return False when it was current already."""
    text = _text(manifest)
    if _old_text(target) == text:
        return False
    target.file.write_text(text, encoding="utf-8")
    return True


def stale(target: BuildTarget, manifest: Mapping[str, Any]) -> list[str]:
    """Return what the file says differently, one line per difference; empty = current."""
    old = _old_text(target)
    if old is None:
        return [f"{target.file} is missing"]
    if old == _text(manifest):
        return []
    try:
        data = json.loads(old)
    except ValueError as error:
        return [f"{target.file} is not JSON: {error}"]
    found = list(_differences("", data, json.loads(_text(manifest))))
    return found or [f"{target.file} is not written as `pegboard plugins build` writes it"]


def _text(manifest: Mapping[str, Any]) -> str:
    return Manifest.from_dict(dict(manifest), "the built manifest").to_json()


def _old_text(target: BuildTarget) -> str | None:
    try:
        return target.file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        return ""


def _differences(key: str, file: Any, code: Any) -> Iterator[str]:
    file, code = _keyed(file), _keyed(code)
    if file == code:
        return
    if isinstance(file, dict) and isinstance(code, dict):
        for name in sorted(file.keys() | code.keys()):
            dotted = f"{key}.{name}" if key else name
            if name not in file:
                yield f"{dotted}: only the code has it"
            elif name not in code:
                yield f"{dotted}: only the file has it"
            else:
                yield from _differences(dotted, file[name], code[name])
        return
    yield f"{key}: the file says {_short(file)}, the code {_short(code)}"


def _keyed(value: Any) -> Any:
    """Return a list of named things as a table, so that one more does not shift all others."""
    if not isinstance(value, list) or not value:
        return value
    named = [item for item in value if isinstance(item, dict) and ("name" in item)]
    if len(named) < len(value):
        return value
    return {" ".join(filter(None, (item.get("kind"), item["name"]))): item for item in named}


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"


def _in_folder(folder: Path) -> list[BuildTarget]:
    project = folder / "pyproject.toml"
    try:
        data = tomllib.loads(project.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BuildError(f"{folder} has no pyproject.toml") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BuildError(f"{project}: not TOML: {error}") from error
    points = data.get("project", {}).get("entry-points", {}).get(GROUP, {})
    if not points:
        raise BuildError(
            f"{project} has no entry point in the group {GROUP}",
            fix=f'[project.entry-points."{GROUP}"]\nweather = "pegboard_weather.plugin:plugin"',
        )
    return [
        _target(plugin_id, entry, _source_root(folder, entry))
        for plugin_id, entry in sorted(points.items())
    ]


def _source_root(folder: Path, entry: str) -> Path:
    top = entry.partition(":")[0].partition(".")[0]
    for root in (folder / "src", folder):
        if (root / top).is_dir() or (root / f"{top}.py").is_file():
            return root
    raise BuildError(f"{folder}: {top} is neither in it nor in its src folder")


def _installed(plugin_id: str, path: Sequence[str] | None) -> BuildTarget:
    everything = scan(path)
    found = [plugin for plugin in everything if plugin.id == plugin_id]
    if not found:
        ids = [plugin.id for plugin in everything]
        raise BuildError(f"no plugin {plugin_id!r} is installed{did_you_mean(plugin_id, ids)}")
    if len(found) > 1:
        dists = " and ".join(plugin.dist for plugin in found)
        raise BuildError(f"{dists} both call their plugin {plugin_id!r}")
    return _target(plugin_id, found[0].value, None, path)


def _target(
    plugin_id: str, entry: str, source: Path | None, path: Sequence[str] | None = None
) -> BuildTarget:
    try:
        file = place(entry, [str(source)] if source else path)
    except ModuleNotFoundError as error:
        raise BuildError(f"plugin {plugin_id}: {error}") from error
    if file is None:
        raise BuildError(
            f"plugin {plugin_id}: {entry} is a single file, which has no place for plugin.json",
            fix="make it a package (a folder with __init__.py); without, it works unmanifested",
        )
    return BuildTarget(plugin_id, entry, source, file)
