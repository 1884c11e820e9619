from __future__ import annotations

import os
from pathlib import Path

import pytest
from counterparts.container_image import why_not

ANYWHERE = ("test_arguments", "test_engine", "TestPlugin")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what this machine can't run, and say why; where all must run, let it fail."""
    mine = [
        item
        for item in items
        if Path(__file__).parent in item.path.parents
        and not any(name in item.nodeid for name in ANYWHERE)
    ]
    if not mine:
        return
    reason = why_not()
    if reason is None or os.environ.get("PEGBOARD_CI"):
        return
    for item in mine:
        item.add_marker(pytest.mark.skip(reason=reason))
