"""Failed activations, kept so that `pegboard plugins why` can show them without importing.

Before a plugin is imported, a marker with the process's id is written; when the import ends, well
or badly, it is removed. A marker whose process is gone means that the import took the process with
it (`os._exit`, a segmentation fault), and the next boot leaves that plugin out.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from pegboard.config.paths import Paths
from pegboard.config.private_file import write_json
from pegboard.contracts.errors import ConfigError

_FAILURE: Final = ".failure.json"
_MARKER: Final = ".importing.json"
_MAX_TRACEBACK: Final = 64_000
_UNSAFE: Final = r"[^A-Za-z0-9_-]+"
_DEAD: Final = ("Z", "X", "x")
"""What Linux calls the state of a process that has ended."""
_MARKS: Final = itertools.count(1)
"""Two hosts of one process may import one plugin at the same time."""


class Failure(NamedTuple):
    """One failed activation.

    Args:
        dist, version: The distribution that failed; another version is given another try.
        phase: What was being done: `import`, `verify`, `config`, `lifespan`.
        traceback: Text, or "".
        crashed: True when the whole process died.
        at: When, in seconds since 1970.
        reason: What happened, in one sentence, or "".
        fix: What mends it, or "".
        stamp: Tells whether the files are still those that failed; "" = not known.
    """

    dist: str
    version: str
    phase: str
    traceback: str = ""
    crashed: bool = False
    at: float = 0.0
    reason: str = ""
    fix: str = ""
    stamp: str = ""


class FailureStore:
    """Failures and crash markers, one small file each, below the state folder.

    What can't be written is not: a read-only state folder must not keep a plugin from running.
    """

    def __init__(self, paths: Paths) -> None:
        self._folder = paths.failures_name

    @contextlib.contextmanager
    def marked(self, plugin_id: str, dist: str, version: str, stamp: str = "") -> Iterator[None]:
        """Say that an import begins, and at the end of the block that it ended, well or badly.

        If the process dies in between, the next boot finds the marker.
        """
        pid = os.getpid()
        ending = f".{pid}-{next(_MARKS)}{_MARKER}"
        mark = {"dist": dist, "version": version, "pid": pid, "started": _started(), "stamp": stamp}
        self._write(plugin_id, ending, {**mark, "at": time.time()})
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.unlink(self._file(plugin_id, ending))  # noqa: PTH108

    def record(
        self,
        plugin_id: str,
        dist: str,
        version: str,
        phase: str,
        traceback: str,
        *,
        reason: str = "",
        fix: str = "",
        stamp: str = "",
    ) -> None:
        """Keep a failed activation, in place of an earlier one."""
        shown = traceback[-_MAX_TRACEBACK:]
        failure = Failure(dist, version, phase, shown, False, time.time(), reason, fix, stamp)
        self._write(plugin_id, _FAILURE, failure._asdict())

    def read(self) -> Mapping[str, Failure]:
        """Return the last failure of each plugin; the marker of a dead process is a crash."""
        found: dict[str, Failure] = {}
        for plugin_id, data in self._read_all(_FAILURE):
            found[plugin_id] = _failure(data)
        for name, data in self._read_all(_MARKER):
            if _alive(data.get("pid"), data.get("started")):
                continue
            plugin_id = name.rpartition(".")[0]
            crash = _failure(data)._replace(phase="import", crashed=True)
            if plugin_id not in found or found[plugin_id].at <= crash.at:
                found[plugin_id] = crash
        return found

    def forget(self, plugin_id: str) -> bool:
        """Drop the failure and the markers of a plugin; False when there was nothing to drop."""
        files = [file for name, file in self._files(_FAILURE) if name == plugin_id]
        for name, file in self._files(_MARKER):
            if name.rpartition(".")[0] == plugin_id:
                files.append(file)
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file)  # noqa: PTH108
        return bool(files)

    def _write(self, plugin_id: str, ending: str, data: Mapping[str, Any]) -> None:
        with contextlib.suppress(ConfigError):
            write_json(self._file(plugin_id, ending), data, durable=False)

    def _file(self, plugin_id: str, ending: str) -> str:
        return os.path.join(self._folder, re.sub(_UNSAFE, "_", plugin_id) + ending)  # noqa: PTH118

    def _files(self, ending: str) -> Iterator[tuple[str, str]]:
        try:
            names = sorted(os.listdir(self._folder))  # noqa: PTH208 - on the boot path
        except OSError:
            return
        for name in names:
            if name.endswith(ending) and not name.startswith("."):
                yield name.removesuffix(ending), os.path.join(self._folder, name)  # noqa: PTH118

    def _read_all(self, ending: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, file in self._files(ending):
            try:
                with open(file, "rb") as stream:  # noqa: PTH123
                    data = json.loads(stream.read())
            except (OSError, ValueError, RecursionError):
                continue  # half a file says nothing that can be relied upon
            if isinstance(data, dict):
                yield name, data


def _failure(data: Mapping[str, Any]) -> Failure:
    dist, version, phase, traceback, reason, fix, stamp = (
        str(data.get(key, ""))
        for key in ("dist", "version", "phase", "traceback", "reason", "fix", "stamp")
    )
    at = data.get("at")
    when = float(at) if isinstance(at, (int, float)) else 0.0
    return Failure(dist, version, phase, traceback, at=when, reason=reason, fix=fix, stamp=stamp)


def _alive(pid: object, started: object) -> bool:
    """Say whether the process that wrote a marker still runs; its number may belong to another."""
    if pid == os.getpid():
        return started == _started()
    if not isinstance(pid, int) or pid <= 0 or os.name == "nt":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it is there and belongs to somebody else
    return started == _started(pid)


def _started(pid: int | None = None) -> str:
    """Return when a process began, in the system's own count; "" where it can't be told.

    One that is dead and whose parent has not asked after it yet (a container may have nobody who
    asks) is still listed, and has begun at no time.
    """
    try:
        with open(f"/proc/{pid or 'self'}/stat", encoding="utf-8", errors="replace") as stream:  # noqa: PTH123
            stat = stream.read()
    except OSError:
        return ""
    state, *fields = stat.rpartition(")")[2].split()
    return "" if state in _DEAD else fields[18]
