"""Kill a process at each step of a patch, end what it left, and print what the files hold then.

    python killed_patch.py FOLDER

Each child works in a folder of its own and dies at its n-th point: before or after a step of the
file system, of the history or of the journal. A second child dies while it ends what that left,
a third one does it. They are forked, since importing everything takes longer than the patch.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
from pegboard_files import recovery
from pegboard_files.config import FilesSettings
from pegboard_files.history import History
from pegboard_files.journal import Journal
from pegboard_files.tools.apply_patch import apply_patch
from pegboard_files.tools.undo_changes import undo_changes
from pegboard_files.transaction import Transaction

from pegboard import Caller, CallInfo, SandboxSpec, SystemClock
from pegboard.contracts.effects import ALL_EFFECTS
from pegboard.sandboxes import GrantTable, SandboxFiles
from pegboard.store.plugin_storage import PluginStorage

OLD = {"a": "a\n", "b": "b\n", "sub/d": "d\n", "f": "f\n"}
PATCH = """*** Begin Patch
*** Update File: a
@@
-a
+A
*** Update File: b
*** Move to: n/c
@@
-b
+C
*** Delete File: sub/d
*** Add File: e/x/new
+new
*** Delete File: f
*** End Patch
"""


class Points:
    """Counts the points and dies at one of them."""

    def __init__(self, die_at: int) -> None:
        self.left = die_at

    def reached(self) -> None:
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        async def stepped(*args: Any, **named: Any) -> Any:
            self.reached()
            result = await function(*args, **named)
            self.reached()
            return result

        return stepped


class Stepping:
    """A sandbox whose steps are points."""

    def __init__(self, sandbox: Any, points: Points) -> None:
        self._sandbox = sandbox
        self._points = points

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._sandbox, name)
        if name in ("write", "rename", "remove", "make_dir"):
            return self._points.around(found)
        return found


def arm(die_at: int) -> None:
    """Let this process die at a point."""
    points = Points(die_at)
    begin, rename, end = Transaction.__init__, os.rename, recovery._end

    def made(self: Any, sandbox: Any, token: str, **options: Any) -> None:
        begin(self, Stepping(sandbox, points), token, **options)

    def renamed(*args: Any, **named: Any) -> None:
        points.reached()  # what is written beside the file is left
        rename(*args, **named)

    async def ended(ctx: Any, *args: Any) -> Any:
        ctx.sandbox = Stepping(ctx.sandbox, points)
        return await end(ctx, *args)

    Transaction.__init__ = made  # type: ignore[method-assign]
    os.rename = renamed
    recovery._end = ended
    for kind, name in ((History, "keep"), (Journal, "commit"), (Journal, "close")):
        setattr(kind, name, points.around(getattr(kind, name)))


async def work(folder: Path, tool: Any, **arguments: Any) -> None:
    """Call one tool."""
    storage = PluginStorage("files", folder / "storage", SystemClock())
    data = folder / "data"
    data.mkdir(exist_ok=True)
    plugin = SimpleNamespace(
        storage=storage,
        data_dir=data,
        clock=SystemClock(),
        config=FilesSettings(),
        new_id=lambda: secrets.token_hex(6),
        log=logging.getLogger("files"),
    )
    workspace = folder / "workspace"
    table = GrantTable.open(SandboxSpec(workspace=workspace), home=folder)
    context: Any = SimpleNamespace(
        plugin=plugin,
        call=CallInfo(id="call", run="run", workspace=workspace),
        caller=Caller(),
        sandbox=SandboxFiles(table, ALL_EFFECTS),
    )
    try:
        result = await tool(context, **arguments)
        assert result.error is None, result.error
    finally:
        await storage.aclose()
        table.close()


def child(folder: Path, die_at: int, tool: Any, **arguments: Any) -> int:
    """Do it in a child; return the signal that ended it, or 0."""
    pid = os.fork()
    if pid == 0:
        arm(die_at)
        try:
            anyio.run(lambda: work(folder, tool, **arguments))
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(3)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "a child failed"
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def held(folder: Path) -> dict[str, str]:
    """Return what all files of a workspace hold, and its empty folders."""
    found = {}
    for path in sorted((folder / "workspace").rglob("*")):
        name = str(path.relative_to(folder / "workspace"))
        if path.is_file():
            found[name] = path.read_text()
        elif not any(path.iterdir()):
            found[f"{name}/"] = ""
    return found


def journals(folder: Path) -> int:
    """Return how many changes are still written down as under way."""
    with closing(sqlite3.connect(folder / "storage" / "tables.db")) as connection:
        found = connection.execute(
            "SELECT (SELECT count(*) FROM journal) + (SELECT count(*) FROM step)"
        )
        return int(found.fetchone()[0])


def main(top: Path) -> None:
    """Die at every point of the patch, then at another one of what ends it."""
    rows = []
    point = 0
    while True:
        point += 1
        folder = top / str(point)
        for name, text in OLD.items():
            path = folder / "workspace" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        if not child(folder, point, apply_patch, patch=PATCH):
            break
        between = held(folder)
        child(folder, 1 + point % 7, undo_changes)
        child(folder, 0, undo_changes)
        rows.append([between, held(folder), journals(folder)])
    print(json.dumps({"points": rows, "last": held(folder)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
