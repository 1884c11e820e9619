"""A backend that an installed package brings: the host keeps the truth there."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard.contracts.archive import Scope
from pegboard.contracts.channel import ChannelInfo, Delivery, Inbox
from pegboard.contracts.engine import Backend
from pegboard.contracts.errors import PluginError, StoreError
from pegboard.contracts.message import InboundMessage, OutboundMessage
from pegboard.store.database import Database
from pegboard.testing import Dist, ScriptedModel, make_dist
from pegboard.testing.contracts.backend import BackendContract
from pegboard.testing.dists import built

pytestmark = pytest.mark.anyio
CODE = '''
from pathlib import Path
from pegboard import Plugin
from pegboard.engine.backend import EmbeddedBackend
from pegboard.store.database import Database

plugin = Plugin(summary="Keeps turns in a folder")


class Elsewhere:
    """A backend that wraps the embedded one."""

    def __init__(self, folder, **options):
        self._made = EmbeddedBackend(Database(folder), **options)

    @property
    def archive(self):
        return self._made.archive

    async def open(self, settings, clock, **options):
        if settings.get("broken"):
            from pegboard.contracts.errors import StoreError
            raise StoreError("No server answers.", fix="start it")
        return await self._made.open(settings, clock, **options)

    async def aclose(self):
        await self._made.aclose()


def make(folder, **options):
    """Make one for a test."""
    return Elsewhere(Path(folder), **options)


@plugin.backend("elsewhere", summary="A folder", config="acme_elsewhere.config:Settings")
def elsewhere(context, settings):
    return Elsewhere(Path(settings.folder))


@plugin.tool(effects={"read"}, outside=False)
async def look() -> str:
    """Look."""
    return "seven"
'''
CONFIG = '''
from pydantic import BaseModel


class Settings(BaseModel):
    """Where it is."""

    folder: str
    broken: bool = False
'''


def dist(folder: Path) -> Dist:
    """Write the distribution."""
    return make_dist(
        folder,
        "acme-elsewhere",
        code=CODE,
        id="elsewhere",
        files={"acme_elsewhere/config.py": CONFIG},
    )


class Chat:
    """A chat in which one message is written."""

    def __init__(self) -> None:
        self.info = ChannelInfo(surface="chat", local=True)
        self.sent: list[str] = []

    async def run(self, inbox: Inbox) -> None:
        message = InboundMessage(
            channel="chat", chat="1", sender="me", text="hello there", external_id="1"
        )
        await inbox.receive(message)
        await anyio.sleep_forever()

    async def send(self, message: OutboundMessage) -> Delivery:
        self.sent.append(message.text)
        return Delivery(external_ids=("1",))


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    return {
        "store.backend": "elsewhere",
        "backends.elsewhere": {"type": "elsewhere", "folder": str(folder), **more},
    }


async def test_a_turn_runs_on_the_backend_of_an_installed_package(
    installation, host, tmp_path
) -> None:
    built(dist(installation.site))
    elsewhere, chat = tmp_path / "elsewhere", Chat()
    async with (
        host(
            "elsewhere",
            model=ScriptedModel(["Hello!"]),
            config=settings(elsewhere),
            path=[installation.site],
        ) as world,
        anyio.create_task_group() as group,
    ):
        group.start_soon(world.host.run_channel, chat)
        with anyio.fail_after(10):
            while not chat.sent or await world.host.parts.store.open_turns():
                await anyio.sleep(0.01)
        shown = [
            item.turns for item in await world.host.parts.archive.conversations(Scope(key="chat/1"))
        ]
        group.cancel_scope.cancel()
    assert chat.sent == ["Hello!"]
    assert shown == [1]
    for folder, turns in ((elsewhere, 1), (world.home / "state", 0)):
        database = Database(folder)
        counted = await database.read(
            lambda connection: connection.execute("SELECT count(*) FROM turn").fetchone()[0]
        )
        await database.aclose()
        assert counted == turns


async def test_a_backend_that_can_not_be_opened_ends_the_host_with_its_reason(
    installation, host, tmp_path
) -> None:
    built(dist(installation.site))
    config = settings(tmp_path / "elsewhere", broken=True)
    with pytest.raises(StoreError, match="No server answers"):
        async with host("elsewhere", config=config, path=[installation.site]):
            raise AssertionError("it was opened")


async def test_a_backend_that_nobody_brings_is_named(host) -> None:
    with pytest.raises(PluginError, match="no backend named 'nowhere'"):
        async with host(config={"store.backend": "nowhere"}):
            raise AssertionError("it was opened")


def test_plugins_list_and_why_know_the_kind(tmp_path) -> None:
    built(dist(tmp_path / "site"))
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PEGBOARD")},
        "PYTHONPATH": str(tmp_path / "site"),
        "PEGBOARD_HOME": str(tmp_path / "home"),
    }

    def pegboard(*words: str) -> str:
        words = (sys.executable, "-m", "pegboard", *words)
        return subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout

    assert "elsewhere" in pegboard("plugins", "list", "--provides", "backend")
    assert "elsewhere" in pegboard("plugins", "why", "elsewhere")
    assert "backend" in pegboard("plugins", "show", "elsewhere")


class TestElsewhere(BackendContract):
    """The laws, through the code of an installed package."""

    def make_backend(self, folder: Path) -> Backend:
        # several processes do this at once for one folder: each has a package of its own
        with tempfile.TemporaryDirectory(dir=folder) as site:
            code = runpy.run_path(str(dist(Path(site)).code))
        made: Backend = code["make"](folder / "state", reconcile_s=0.3)
        return made
