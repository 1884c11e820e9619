"""A command in bubblewrap against bwrap itself, started with the same arguments."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from pegboard_sandbox_bubblewrap import sandbox as under_test
from pegboard_sandbox_bubblewrap.descriptors import Descriptors
from pegboard_sandbox_bubblewrap.profile import Wrapped, wrap
from pegboard_sandbox_bubblewrap.sandbox import BubblewrapBackend, BubblewrapSandbox

from pegboard import Command, SandboxSpec

ROUNDS = 150
COMMAND = Command(argv=("true",))


def measure(row: Any, peers_python: Any) -> Iterator[Any]:
    # wall-clock time: the work is that of other processes and of the kernel
    result = row("a command in bubblewrap", "ms", 1.3, "bwrap with the same arguments")
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(_measure, Path(folder), result)
    yield result


async def _measure(folder: Path, result: Any) -> None:
    subprocess.run(["git", "init", "-q", folder], check=True)
    box = await BubblewrapBackend().open(SandboxSpec(workspace=folder))
    views = await _views(box)
    for number in range(ROUNDS):
        started = time.perf_counter()
        done = await box.run(COMMAND)
        ours = time.perf_counter() - started
        assert done.exit_code == 0, done
        reference = _bare(box, views)
        if number:  # the first of each loads what the others find
            result.ours.append(ours * 1e3)
            result.reference.append(reference * 1e3)
    await box.aclose()


async def _views(box: BubblewrapSandbox) -> list[Any]:
    """Return the view that a command of the sandbox has, as it is handed to bwrap."""
    seen: list[Any] = []
    real = under_test.wrap

    def keep(binary: str, view: Any, *rest: Any) -> Wrapped:
        seen.append(view)
        return real(binary, view, *rest)

    under_test.wrap = keep
    try:
        await box.run(COMMAND)
    finally:
        under_test.wrap = real
    return seen


def _bare(box: BubblewrapSandbox, views: list[Any]) -> float:
    with Descriptors() as descriptors:
        wrapped = wrap(box._machine.binary.path, replace(views[0]), COMMAND.argv, descriptors)
        descriptors.shut(wrapped.release)
        started = time.perf_counter()
        subprocess.run(
            wrapped.launch.argv,
            pass_fds=wrapped.launch.pass_fds,
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        return time.perf_counter() - started
