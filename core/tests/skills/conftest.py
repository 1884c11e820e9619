from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def write(tmp_path: Path):
    """Write a file below the skills folder, `tmp_path / "skills"`."""

    def write(name: str, text: str) -> Path:
        file = tmp_path / "skills" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return write
