"""Run another program for a command, and show that something is going on meanwhile."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Final

from pegboard.cli.output import CLEAR, Output

_FRAMES: Final = "|/-\\"
_TICK_S: Final = 0.1


def run_child(
    argv: Sequence[str], label: str, output: Output, *, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end and return it with its output; never raises for its exit code.

    Args:
        argv: Program and arguments.
        label: What is being done, e.g. `Downloading pegboard-web`.
        output: Shows the label on standard error; in a terminal with a spinner.
        env: Its environment; None = this one's.
    """
    started = time.monotonic()
    moving = sys.stderr.isatty()
    if not moving:
        output.note(f"{label} ...")
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=None if env is None else dict(env),
    ) as child:
        for frame in cycle(_FRAMES):
            try:
                out, err = child.communicate(timeout=_TICK_S)
                break
            except subprocess.TimeoutExpired:
                if moving:
                    sys.stderr.write(f"\r{frame} {label} {time.monotonic() - started:.0f} s")
                    sys.stderr.flush()
            except BaseException:
                child.terminate()
                raise
    if moving:
        sys.stderr.write(CLEAR)
        sys.stderr.flush()
    return subprocess.CompletedProcess(list(argv), child.returncode, out, err)
