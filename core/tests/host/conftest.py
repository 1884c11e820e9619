from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pegboard.config.paths import find_paths
from pegboard.host import Host, HostOptions, open_host
from pegboard.testing import Dist, make_dist
from pegboard.testing.dists import built


class Installation:
    """A folder of installed packages on `sys.path`, a Pegboard home, and hosts over both."""

    def __init__(self, folder: Path) -> None:
        self.site = folder / "site"
        self.site.mkdir()
        self.work = folder / "work"
        self.work.mkdir()
        self.paths = find_paths({"PEGBOARD_HOME": str(folder / "home")})
        self.env: dict[str, str] = {"PATH": "/usr/bin:/bin"}

    def install(self, plugin_id: str, *, manifest: bool = True, **facts: Any) -> Dist:
        """Write a distribution as pip leaves it; in place of another version of it."""
        name = facts.pop("name", f"acme-{plugin_id}")
        self.uninstall(name)
        dist = make_dist(self.site, name, id=plugin_id, **facts)
        return built(dist) if manifest else dist

    def uninstall(self, name: str) -> None:
        """Remove a distribution and its package."""
        package = name.replace("-", "_")
        shutil.rmtree(self.site / package, ignore_errors=True)
        for info in self.site.glob(f"{package}-*.dist-info"):
            shutil.rmtree(info)

    @asynccontextmanager
    async def host(
        self, config: Mapping[str, Any] | None = None, **options: Any
    ) -> AsyncIterator[Host]:
        """Open a host that finds what is installed here, and nothing else."""
        given = HostOptions(
            paths=self.paths,
            overrides=config or {},
            workspace=self.work,
            plugin_path=[str(self.site)],
            env=self.env,
            **options,
        )
        async with open_host(given) as host:
            yield host


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    made = Installation(tmp_path)
    monkeypatch.syspath_prepend(made.site)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield made
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(made.site)):
            del sys.modules[name]
