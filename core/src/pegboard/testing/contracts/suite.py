"""What every suite shares: asyncio as the backend, time limits, what may be left behind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Never

import pytest

LIMIT_S: Final = 30.0
"""Wall-clock seconds that one law may take: generous, so that a loaded machine changes nothing."""
PROMPT_S: Final = 5.0
"""Wall-clock seconds within which something that must end at once has ended."""


class Suite:
    """Base of the suites: runs `async` laws on asyncio, whatever the project's own settings."""

    pytestmark = pytest.mark.anyio

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run on asyncio: the backend of the host."""
        return "asyncio"


def missing(suite: Suite, method: str, returns: str) -> Never:
    """Fail a law because the author did not say how to make the thing under test."""
    pytest.fail(
        f"{type(suite).__name__} needs a method `{method}` that returns {returns}.", pytrace=False
    )


@contextmanager
def no_tasks_left() -> Iterator[None]:
    """Fail when the block leaves a task of the event loop running."""
    before = asyncio.all_tasks()
    yield
    left = [task for task in asyncio.all_tasks() - before if not task.done()]
    names = ", ".join(sorted(repr(task.get_coro()) for task in left))
    assert not left, f"still running after the end: {names}"


@contextmanager
def logged() -> Iterator[list[str]]:
    """Collect every line that any logger writes, from the lowest level on."""
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.name}: {record.getMessage()} {record.exc_text or ''}")

    root, handler = logging.getLogger(), Keep(logging.DEBUG)
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
