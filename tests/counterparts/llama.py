"""llama.cpp's own server with SmolLM2: real inference, on one processor."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from counterparts.places import MODEL
from counterparts.process import ServerProcess

_PROGRAM = Path(__file__).with_name("serve_llama.py")


class Llama:
    """A running llama-server with two slots.

    The model is 135M small: it writes fluent sentences and makes a tool call after it has seen two
    (`examples`), and that is all that may be asked of it.

    Args:
        log: File for what it prints.
        context: Context window in tokens of one slot.
        key: Key that it asks for; "" = none.

    Attributes:
        url: Its address; Chat Completions and Responses are at `/v1`, Messages at `/v1/messages`.
    """

    def __init__(self, log: Path, *, context: int = 2_048, key: str = "") -> None:
        self.context = context
        command = [sys.executable, str(_PROGRAM), str(MODEL), "{port}", str(context), key]
        self._process = ServerProcess(command, health="/health", log=log)
        self.url = self._process.url

    def slots(self) -> list[dict[str, Any]]:
        """Return what its slots do; `is_processing` is True while one answers."""
        return list(self._process.ask("/slots"))

    def settle(self, within_s: float = 30.0) -> None:
        """Wait until no slot answers: what is answered side by side may come out otherwise."""
        until = time.monotonic() + within_s
        while any(slot["is_processing"] for slot in self.slots()):
            assert time.monotonic() < until, f"a slot was still busy after {within_s} s"
            time.sleep(0.02)

    def close(self) -> None:
        """End it."""
        self._process.close()
