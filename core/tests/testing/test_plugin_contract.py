"""Each law of `PluginContract` fails for a plugin that breaks it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pegboard.contracts.errors import BuildError
from pegboard.testing import Dist, PluginContract, make_dist
from pegboard.testing.dists import built

pytestmark = pytest.mark.anyio

CODE = '''
from typing import Annotated

from pegboard import Arg, Plugin

plugin = Plugin(summary="A sound plugin", config="pegboard_sound.config:Config")


@plugin.tool(effects=set(), intents=["repeat {text:quoted}"])
async def sound_repeat(text: Annotated[str, Arg("What to repeat.")]) -> str:
    """Repeat a text."""
    return text


plugin.chat_command("echo", tool="sound_repeat", argument="text")


@plugin.provider("sound-model", summary="Answers nothing")
def make_provider(context, settings):
    return None


@plugin.hook
def pegboard_tool_guard(event):
    """Let every call pass."""
    return None


@plugin.hook(events=["tool_called"])
async def pegboard_event(event):
    """Look at calls and do nothing."""


@plugin.lifespan
async def lifespan(context):
    yield "state"
'''
CONFIG = """
from pydantic import BaseModel, ConfigDict, Field


class Config(BaseModel):
    model_config = ConfigDict(extra="forbid")
    size: int = Field(default=1, description="How large.")
"""
README = "# Sound\n`sound_repeat` `/echo` `sound-model` `pegboard_tool_guard` `pegboard_event`\n"


def sound(
    folder: Path,
    *,
    code: str = CODE,
    config: str = CONFIG,
    readme: str = README,
    build: bool = True,
    name: str = "pegboard-sound",
) -> Dist:
    files = {"pegboard_sound/config.py": config}
    dist = make_dist(
        folder, name, id="sound", package="pegboard_sound", code=code, files=files, readme=readme
    )
    return built(dist) if build else dist


def changed(old: str, new: str) -> Callable[[Path], Dist]:
    """Return a maker of the sound plugin with one change in its code."""
    assert old in CODE
    return lambda folder: sound(folder, code=CODE.replace(old, new))


def before(lines: str) -> Callable[[Path], Dist]:
    """Return a maker of the sound plugin whose import does something first."""
    return lambda folder: sound(folder, code=lines + CODE)


def configured(old: str, new: str) -> Callable[[Path], Dist]:
    assert old in CONFIG
    return lambda folder: sound(folder, config=CONFIG.replace(old, new))


def edited(key: str, value: object) -> Callable[[Path], Dist]:
    """Return a maker of the sound plugin whose manifest somebody edited."""

    def make(folder: Path) -> Dist:
        dist = sound(folder)
        manifest = json.loads(dist.manifest.read_text())
        dist.manifest.write_text(json.dumps({**manifest, key: value}))
        return dist

    return make


def edited_tool(key: str, value: object) -> Callable[[Path], Dist]:
    """Return a maker of the sound plugin with a tool whose facts somebody edited."""

    def make(folder: Path) -> Dist:
        dist = sound(folder)
        manifest = json.loads(dist.manifest.read_text())
        manifest["tools"][0][key] = value
        dist.manifest.write_text(json.dumps(manifest))
        return dist

    return make


@pytest.fixture(scope="module")
def sound_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    sound(folder)
    return folder


class TestASoundPlugin(PluginContract):
    plugin = "sound"

    @pytest.fixture(autouse=True)
    def _found(self, sound_folder: Path) -> None:
        self.path = (str(sound_folder),)


GUARD = '"""Let every call pass."""'
BREAKS: list[tuple[str, Callable[[Path], Dist]]] = [
    ("it_is_installed_as_one_plugin", lambda f: sound(f, name="pegboard-other")),
    ("its_manifest_is_current", edited("summary", "Old")),
    ("its_manifest_is_current", lambda f: sound(f, build=False)),
    ("its_manifest_holds_nothing_unknown", edited("colour", "red")),
    ("its_readme_names_what_it_adds", lambda f: sound(f, readme="")),
    ("its_readme_names_what_it_adds", lambda f: sound(f, readme="# Sound\nAdds sound-model.\n")),
    ("importing_it_is_silent", before("print('loaded')\n")),
    ("importing_it_is_silent", before("import os\nos.write(2, b'loaded')\n")),
    ("importing_it_is_light", before("import pydantic\n")),
    (
        "importing_it_changes_nothing",
        before(
            "import threading, time\n"
            "threading.Thread(target=time.sleep, args=(60,), name='left', daemon=True).start()\n"
        ),
    ),
    ("importing_it_changes_nothing", before("KEPT = open('/dev/null')\n")),
    ("importing_it_changes_nothing", before("import os\nos.environ['LEFT'] = '1'\n")),
    ("importing_it_changes_nothing", before("import os\nos.chdir('/')\n")),
    ("importing_it_changes_nothing", before("import sys\nsys.path.append('/left')\n")),
    ("its_settings_fit_their_schema", configured("default=1, ", "")),
    ("every_setting_is_described", configured(', description="How large."', "")),
    ("a_wrong_setting_is_named", configured('extra="forbid"', 'extra="allow"')),
    ("its_tools_are_described", edited_tool("description", "")),
    ("its_tools_are_described", changed('Arg("What to repeat.")', "Arg()")),
    ("its_intents_can_be_read", edited_tool("intents", [{"pattern": "repeat {text:nothing}"}])),
    ("its_intents_can_be_read", edited_tool("intents", [{"pattern": "repeat {other:quoted}"}])),
    ("its_chat_commands_are_its_own", changed('"echo"', '"status"')),
    ("its_chat_commands_are_its_own", edited("tools", [])),
    ("every_reference_resolves", edited("hooks", {"pegboard_event": ["tool_called"]})),
    ("every_reference_resolves", edited("tools", [])),
    ("it_starts_and_stops_twice", changed('yield "state"', "raise RuntimeError('no'); yield")),
    (
        "it_starts_and_stops_twice",
        changed('yield "state"', "import os; os.environ['LEFT'] = '1'; yield"),
    ),
    (
        "it_starts_and_stops_twice",
        changed(
            'yield "state"',
            "import asyncio; lifespan.left = asyncio.create_task(asyncio.sleep(60)); yield",
        ),
    ),
    ("its_hooks_are_documented", changed(GUARD, "")),
    ("its_hooks_take_events_of_a_newer_host", changed(GUARD, "type(event)(**vars(event))")),
    ("its_hooks_take_events_of_a_newer_host", changed(GUARD, "return 'no'")),
]


@pytest.mark.parametrize(("law", "make"), BREAKS)
async def test_a_broken_plugin_fails_the_law(
    law: str, make: Callable[[Path], Dist], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    class Suite(PluginContract):
        plugin = "sound"
        path = (str(tmp_path / "site"),)

    make(tmp_path / "site")
    test = getattr(Suite(), f"test_{law}")
    with pytest.raises((AssertionError, pytest.fail.Exception, BuildError, TypeError)):
        needs_host = "host" in inspect.signature(test).parameters
        result = test(request.getfixturevalue("host")) if needs_host else test()
        if inspect.isawaitable(result):
            await result


def test_every_law_is_seen_to_fail() -> None:
    laws = {
        name.removeprefix("test_")
        for name, _ in inspect.getmembers(PluginContract, inspect.isfunction)
        if name.startswith("test_")
    }
    assert laws == {law for law, _ in BREAKS}


def test_a_plugin_that_is_not_installed_is_named(tmp_path: Path) -> None:
    class Suite(PluginContract):
        plugin = "no-such-plugin"

    with pytest.raises(pytest.fail.Exception, match="no-such-plugin"):
        Suite().test_it_is_installed_as_one_plugin()
