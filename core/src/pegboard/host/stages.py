"""The stages of one dispatch, as `pegboard tools call --trace` shows them."""

from __future__ import annotations

import time
from typing import Any


class Stages:
    """Collects the stages of one dispatch, with the milliseconds since the first; a `Trace`."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self._began: float | None = None

    def __call__(self, stage: str, **facts: Any) -> None:
        """Note one stage."""
        now = time.perf_counter()
        if self._began is None:
            self._began = now
        ms = round((now - self._began) * 1000, 3)
        self.seen.append({"stage": stage, "at_ms": ms, **facts})
