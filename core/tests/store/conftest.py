from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from pegboard.store.embedded import open_store

WORKLOAD = Path(__file__).with_name("workload.py")


MEMORY = Path("/dev/shm")
ENOUGH = 512 * 1024 * 1024


@pytest.fixture
def tmp_path(tmp_path_factory):
    """A folder in memory where there is one: most tests here wait for nothing but the disk.

    What a power cut leaves is simulated, and a killed process leaves the same in both.
    """
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ENOUGH:
        yield tmp_path_factory.mktemp("store")
        return
    folder = Path(tempfile.mkdtemp(prefix="pegboard-test-", dir=MEMORY))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def anyio_backend():
    return "asyncio"


def _loaded():
    name = "pegboard_store_workload"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, WORKLOAD)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture
def make():
    """What stores are given in tests: `make.incoming("t1")`, `make.tool_call("a")`, ..."""
    return _loaded()


@pytest.fixture
async def store(tmp_path):
    opened = await open_store(tmp_path, worker="one")
    yield opened
    await opened.aclose()


@pytest.fixture
async def other(tmp_path):
    """A second host on the same store."""
    opened = await open_store(tmp_path, worker="two")
    yield opened
    await opened.aclose()
