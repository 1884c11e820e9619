"""The embedded backend keeps the laws of a backend."""

from __future__ import annotations

from pathlib import Path

from pegboard.engine.backend import EmbeddedBackend
from pegboard.store.database import Database
from pegboard.testing.contracts.backend import BackendContract


class TestEmbeddedBackend(BackendContract):
    def make_backend(self, folder: Path) -> EmbeddedBackend:
        return EmbeddedBackend(Database(folder / "state"), reconcile_s=0.3)
