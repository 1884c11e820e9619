"""Engines: what decides when and where a turn runs. For authors of backends too.

What is listed here is public, like `pegboard` itself: the contracts of a backend, and
`folder_backend`, which one may wrap to begin with.
"""

from __future__ import annotations

from pegboard.contracts.archive import Archive
from pegboard.contracts.engine import (
    Accepts,
    After,
    Backend,
    Engine,
    EngineStats,
    Handler,
    Later,
    Lease,
    Outcome,
    accept_all,
)
from pegboard.contracts.store import FencedError, Store
from pegboard.engine.backend import folder_backend

__all__ = [
    "Accepts",
    "After",
    "Archive",
    "Backend",
    "Engine",
    "EngineStats",
    "FencedError",
    "Handler",
    "Later",
    "Lease",
    "Outcome",
    "Store",
    "accept_all",
    "folder_backend",
]
