"""Read what a child process says, however it behaves: bounded, and never longer than it lives."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from typing import Final, NamedTuple

_CHUNK: Final = 65_536
_TAIL: Final = 8_192
_MOST: Final = 16_000_000
_LOOK_S: Final = 0.05


class Output(NamedTuple):
    """What a child said.

    Args:
        answer: Its standard output.
        errors: The end of its standard error.
        timed_out: True when it had to be killed.
    """

    answer: bytes
    errors: str
    timed_out: bool


def collect(process: subprocess.Popen[bytes], *, timeout_s: float) -> Output:
    """Read both pipes until the process ends, then kill what it left in its session.

    The end of the process counts, not that of the pipes: a grandchild may hold them open for ever.
    """
    deadline = time.monotonic() + timeout_s
    answer, errors = bytearray(), bytearray()
    assert process.stdout is not None and process.stderr is not None
    with selectors.DefaultSelector() as selector, process.stdout, process.stderr:
        selector.register(process.stdout, selectors.EVENT_READ, answer)
        selector.register(process.stderr, selectors.EVENT_READ, errors)
        try:
            while process.poll() is None and time.monotonic() < deadline:
                _read(selector, _LOOK_S)
                del errors[:-_TAIL]
                if len(answer) > _MOST:
                    break
            timed_out = process.poll() is None
        finally:  # also at a Ctrl-C, which does not reach a session of its own
            _kill_session(process)
        for _ in range(_MOST // _CHUNK):  # what was still in the pipes
            if not _read(selector, 0):
                break
    return Output(bytes(answer), errors[-_TAIL:].decode("utf-8", "replace"), timed_out)


def _read(selector: selectors.BaseSelector, wait_s: float) -> bool:
    """Read what is there; return False when nothing was."""
    if not selector.get_map():
        time.sleep(wait_s)
        return False
    ready = selector.select(wait_s)
    for key, _ in ready:
        data = os.read(key.fd, _CHUNK)
        key.data.extend(data)
        if not data:
            selector.unregister(key.fileobj)
    return bool(ready)


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
