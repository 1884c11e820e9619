from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pegboard.config.load import Config
from pegboard.config.paths import Paths, find_paths
from pegboard.contracts.clock import SystemClock
from pegboard.contracts.errors import PegboardError
from pegboard.plugins.building.build import build_manifest
from pegboard.plugins.building.describe import load_entry
from pegboard.plugins.decision.boot import Boot, boot
from pegboard.plugins.decision.failures import FailureStore
from pegboard.plugins.discovery.manifest import Manifest
from pegboard.plugins.running.activate import Activator
from pegboard.store.plugin_storage import PluginStorage

HEAD = """
from __future__ import annotations
from typing import Annotated
from pegboard import Arg, Needs, Plugin, hookimpl, tool
"""


class Environment:
    """A folder on `sys.path` with generated distributions, and a Pegboard home."""

    def __init__(self, folder: Path) -> None:
        self.site = folder / "site"
        self.site.mkdir()
        self.paths: Paths = find_paths({"PEGBOARD_HOME": str(folder / "home")})
        self.config: dict[str, Any] = {"plugins": {"import_timeout_s": 20}}
        self.secrets: dict[str, str] = {}
        self.reports: list[tuple[str, str]] = []
        self.swaps: list[tuple[str, str, str, list[str]]] = []
        self.states: list[tuple[str, str]] = []

    def add(
        self,
        plugin_id: str,
        code: str,
        *,
        manifest: bool = True,
        entry: str = "plugin:plugin",
        version: str = "1.0",
        **files: str,
    ) -> str:
        """Write a distribution; its manifest is built from `code`. Return its package."""
        package = plugin_id.replace("-", "_") + "_pkg"
        folder = self.site / package
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").write_text("")
        for name, text in {"plugin": code, **files}.items():
            (folder / f"{name}.py").write_text(HEAD + textwrap.dedent(text))
        info = self.site / f"{package}-{version}.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        )
        point = f"{package}.{entry}"
        (info / "entry_points.txt").write_text(f"[pegboard.plugins]\n{plugin_id} = {point}\n")
        if manifest:
            self.build(plugin_id, point)
        return package

    def build(self, plugin_id: str, point: str) -> None:
        """Write the manifest of a plugin and forget its modules."""
        package = point.partition(".")[0]
        made = build_manifest(plugin_id, point, load_entry(point))
        text = Manifest.from_dict(made, plugin_id).to_json()
        (self.site / package / "plugin.json").write_text(text)
        self.forget(package)

    def rewrite(self, plugin_id: str, *code: str) -> None:
        """Change the code, not the manifest."""
        package = plugin_id.replace("-", "_") + "_pkg"
        text = HEAD + "".join(textwrap.dedent(part) for part in code)
        (self.site / package / "plugin.py").write_text(text)

    def forget(self, package: str) -> None:
        for name in list(sys.modules):
            if name == package or name.startswith(f"{package}."):
                del sys.modules[name]

    def manifest(self, plugin_id: str) -> dict[str, Any]:
        package = plugin_id.replace("-", "_") + "_pkg"
        found: dict[str, Any] = json.loads((self.site / package / "plugin.json").read_text())
        return found

    def boot(self) -> Boot:
        config = Config(self.config, {}, self.paths)
        return boot(config, path=[str(self.site)], retry_failed=True, env={})

    def activator(self, **options: Any) -> AbstractAsyncContextManager[Activator]:
        """An activator over all that is installed; what it says is kept in lists."""
        return _activator(self, options)


@asynccontextmanager
async def _activator(environment: Environment, options: dict[str, Any]):
    def swap(plugin_id: str, family: Any, group: str, tools: Any) -> None:
        environment.swaps.append((plugin_id, family.prefix, group, [t.spec.name for t in tools]))

    async def changed(record: Any) -> None:
        environment.states.append((record.id, str(record.state)))

    options.setdefault("clock", SystemClock())
    found = options.pop("boot", None) or environment.boot()
    async with Activator(
        found,
        failures=FailureStore(environment.paths),
        secret=environment.secrets.get,
        storage=lambda plugin: PluginStorage(
            plugin, environment.paths.plugin_storage(plugin), SystemClock()
        ),
        swap_family=swap,
        report=lambda plugin_id, what: environment.reports.append((plugin_id, what)),
        changed=changed,
        **options,
    ) as activator:
        yield activator


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Environment]:
    made = Environment(tmp_path)
    monkeypatch.syspath_prepend(made.site)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield made
    for name in set(sys.modules) - before:
        if "_pkg" in name:
            del sys.modules[name]


@pytest.fixture
def refused():
    """Run something that must fail with one of our errors; return the error."""

    def run(kind: type[PegboardError], work: Any, *words: str) -> PegboardError:
        with pytest.raises(kind) as caught:
            work()
        text = f"{caught.value.message} {caught.value.fix or ''}"
        for word in words:
            assert word in text, text
        return caught.value

    return run
