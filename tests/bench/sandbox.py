"""Commands in bubblewrap: against bwrap itself, and what a flood of output costs in memory."""

from __future__ import annotations

import json
import subprocess
import sys
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
MOST_MB = 64.0
"""What a flood may take; the machine's speed has no part in it."""
FLOODS = {
    "stopped at the cap, of memory": 'run(Command(argv=("yes",)))',
    "1 GB, of memory": "run(GIGABYTE)",
    "1 GB in the background, of memory": "started(GIGABYTE)",
}
FLOOD = """
import anyio, json, sys
from pathlib import Path
from pegboard import Command, SandboxSpec, start_process
from pegboard_sandbox_bubblewrap.sandbox import BubblewrapBackend

GIGABYTE = Command(argv=("head", "-c", "1000000000", "/dev/zero"), max_output=2_000_000_000)

def peak():  # of this program alone: what getrusage says begins with that of who started it
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024

async def main():
    box = await BubblewrapBackend().open(SandboxSpec(workspace=Path(sys.argv[1])))
    run = box.run

    async def started(command):
        process = await start_process(box, command)
        return await process.wait()

    await started(Command(argv=("true",)))
    before = peak()
    done = await {flood}
    assert done.stdout.omitted > 100_000_000, done
    print(json.dumps(peak() - before))
    await box.aclose()

anyio.run(main)
"""


def measure(row: Any, peers_python: Any) -> Iterator[Any]:
    # wall-clock time: the work is that of other processes and of the kernel
    result = row("a command in bubblewrap", "ms", 1.3, "bwrap with the same arguments")
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(_measure, Path(folder), result)
    yield result
    for name, flood in FLOODS.items():
        result = row(f"a flood {name}", "MB", 1.0, f"{MOST_MB:g} MB")
        result.ours.append(_grown_mb(flood))
        result.reference.append(MOST_MB)
        yield result


def _grown_mb(flood: str) -> float:
    """Return by how many megabytes a host grows while a command floods it."""
    with tempfile.TemporaryDirectory() as folder:
        program = FLOOD.replace("{flood}", flood)
        ran = subprocess.run(
            [sys.executable, "-c", program, folder], capture_output=True, text=True, check=True
        )
    return float(json.loads(ran.stdout))


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
