"""Run a command until standard input ends, so that it dies with whoever started it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)


def follow() -> None:
    """End when the command does."""
    os._exit(child.wait() or 1)


threading.Thread(target=follow, daemon=True).start()
sys.stdin.buffer.read()
child.terminate()
try:
    child.wait(5)
except subprocess.TimeoutExpired:
    child.kill()
os._exit(0)
