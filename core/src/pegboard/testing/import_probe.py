"""The program of a child process that imports a plugin and writes down what that did.

`python -m pegboard.testing.import_probe ENTRY REPORT [FOLDER...]`. The import runs in a worker
thread, because that is how a host imports plugins.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any


def main(arguments: list[str]) -> None:
    """Import the module of ENTRY and write a JSON report to the file REPORT."""
    entry, report, *folders = arguments
    sys.path[:0] = folders
    result: dict[str, Any] = {"error": ""}
    before = _state()

    def work() -> None:
        try:
            import_module(entry.partition(":")[0])
        except BaseException:
            result["error"] = traceback.format_exc()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    after = _state()
    result["modules"] = sorted(set(after.pop("modules")) - set(before.pop("modules")))
    result["changed"] = {
        key: _difference(before[key], value) for key, value in after.items() if value != before[key]
    }
    Path(report).write_text(json.dumps(result), encoding="utf-8")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # a thread that the plugin left behind must not keep the child alive


def _state() -> dict[str, Any]:
    """Return what an import must leave as it was, by the name for a message."""
    return {
        "modules": list(sys.modules),
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "open files": _open_files(),
        "environment": dict(os.environ),
        "current folder": str(Path.cwd()),
        "signal handlers": {
            int(number): str(signal.getsignal(number)) for number in signal.Signals
        },
        "sys.path": list(sys.path),
        "recursion limit": sys.getrecursionlimit(),
        "umask": _umask(),
    }


def _difference(before: Any, after: Any) -> str:
    """Name what differs, not what stayed: an environment is long, and holds secrets."""
    if isinstance(before, dict):
        keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        return ", ".join(sorted(str(key) for key in keys))
    if isinstance(before, list):
        return ", ".join(item for item in (*before, *after) if (item in before) != (item in after))
    return f"{before} -> {after}"


def _open_files() -> list[str]:
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        return []
    found = []
    for entry in folder.iterdir():
        try:
            found.append(f"{entry.name}: {entry.readlink()}")
        except OSError:
            continue  # the descriptor that listed the folder
    return sorted(found)


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current


if __name__ == "__main__":
    main(sys.argv[1:])
