"""Folders that one host works in: each with its own sandbox, instructions and settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pegboard import InboundMessage, Plugin, SandboxInfo, SandboxSpec, ToolContext
from pegboard.config.trust import FolderTrust
from pegboard.contracts.errors import ConfigError
from pegboard.host import places
from pegboard.host.turn_options import TurnOptions
from pegboard.sandboxes.missing import MissingSandbox
from pegboard.testing import Call, HostFactory, ScriptedModel
from pegboard.testing.model import Fail

pytestmark = pytest.mark.anyio


class Opened(MissingSandbox):
    def __init__(self, spec: SandboxSpec) -> None:
        super().__init__(spec.workspace)
        self.spec = spec
        self.closed = False

    async def aclose(self) -> None:
        self.closed = True


class Backend:
    """Remembers what it has opened."""

    info = SandboxInfo(id="box", confines_commands=True, preference=1)

    def __init__(self) -> None:
        self.opened: list[Opened] = []

    async def probe(self) -> None:
        return None

    async def open(self, spec: SandboxSpec) -> Opened:
        self.opened.append(Opened(spec))
        return self.opened[-1]


@pytest.fixture
def backend() -> Backend:
    return Backend()


@pytest.fixture
def box(backend: Backend) -> Plugin:
    plugin = Plugin(summary="A sandbox and a tool")
    plugin.contribute(
        "sandbox", "box", lambda context, settings: backend, confines_commands=True, preference=1
    )

    @plugin.tool(effects={"read"})
    async def where(ctx: ToolContext) -> str:
        """Tell where it works."""
        return str(ctx.call.workspace)

    return plugin


def settings(folder: Path, text: str) -> None:
    (folder / ".pegboard").mkdir(parents=True, exist_ok=True)
    (folder / ".pegboard" / "config.toml").write_text(text, encoding="utf-8")


async def ask(world: Any, folder: Path | None, text: str = "hello", **turn_options: str) -> Any:
    message = InboundMessage(channel="test", chat=str(folder), sender="me", text=text)
    return await world.host.submit(
        message,
        world.desk,
        turn_options=TurnOptions(folder=folder, **turn_options),
        emit=world.recorder,
    )


async def test_turns_of_two_folders_have_two_sandboxes(
    host: HostFactory, box: Plugin, backend: Backend, tmp_path: Path
) -> None:
    model = ScriptedModel([Call("where"), "a", Call("where"), "b", Call("where"), "own"])
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir(), two.mkdir()
    async with host(inline={"box": box}, model=model) as world:
        for folder in (one, two, None):
            assert (await ask(world, folder)).status == "done"
        told = [r.messages[-1].results[0].text for r in model.requests if r.messages[-1].results]
    for folder, text in zip((one, two, world.workspace), told, strict=True):
        assert str(folder) in text
    assert [item.spec.workspace for item in backend.opened] == [one, two, world.workspace]
    assert all(item.closed for item in backend.opened)


async def test_one_folder_has_one_sandbox_for_many_turns(
    host: HostFactory, box: Plugin, backend: Backend, tmp_path: Path
) -> None:
    async with host(inline={"box": box}, model=ScriptedModel(["x"], repeat=True)) as world:
        for _ in range(3):
            await ask(world, tmp_path)
    assert len(backend.opened) == 1


async def test_the_prompt_names_the_folder_and_holds_its_instructions_if_it_is_trusted(
    host: HostFactory, box: Plugin, tmp_path: Path
) -> None:
    (tmp_path / "AGENTS.md").write_text("Speak of whales.\n")
    model = ScriptedModel(["x"], repeat=True)
    async with host(inline={"box": box}, model=model) as world:
        await ask(world, tmp_path)
        FolderTrust(world.host.config.paths).set(tmp_path, True)
        await ask(world, tmp_path)
    untrusted, trusted = (request.messages[0].text for request in model.requests)
    assert str(tmp_path) in untrusted
    assert "whales" not in untrusted
    assert "Speak of whales." in trusted


async def test_provider_and_model_of_one_turn(host: HostFactory, box: Plugin) -> None:
    model = ScriptedModel(["x"], repeat=True)
    async with host(inline={"box": box}, model=model) as world:
        await ask(world, None, model="big")
        await ask(world, None)
        outcome = await ask(world, None, provider="nobody")
    assert [request.model for request in model.requests] == ["big", ""]
    assert "nobody" in outcome.error["message"]


async def test_settings_of_a_trusted_folder_count_there_and_nowhere_else(
    host: HostFactory, box: Plugin, backend: Backend, tmp_path: Path
) -> None:
    model = ScriptedModel(["x"], repeat=True)
    other = tmp_path / "other"
    other.mkdir()
    settings(
        tmp_path,
        '[agent]\nmodel = "local"\ninstructions = "Be brief."\n'
        '[tools]\nexcluded = ["where"]\n[sandbox]\nenv = ["EDITOR"]\n',
    )
    async with host(inline={"box": box}, model=model) as world:
        await ask(world, tmp_path)  # not trusted: none of it counts
        FolderTrust(world.host.config.paths).set(tmp_path, True)
        await ask(world, tmp_path)
        await ask(world, other)
        await ask(world, tmp_path, model="mine")
    before, there, elsewhere, wished = model.requests
    assert [r.model for r in model.requests] == ["", "local", "", "mine"]
    tools = [{tool.name for tool in request.tools} for request in model.requests]
    assert ["where" in names for names in tools] == [True, False, True, False]
    assert "Be brief." in there.messages[0].text
    assert "Be brief." not in elsewhere.messages[0].text + before.messages[0].text
    assert [item.spec.env for item in backend.opened] == [(), ("EDITOR",), ()]
    del wished


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[[policy.rules]]\naction = "deny"\ntool = "where"\n', "policy.rules"),
        ("[agent]\nfailover_mid_run = true\n", "agent.failover_mid_run"),
    ],
)
async def test_settings_that_can_not_count_for_one_folder_are_refused(
    host: HostFactory, box: Plugin, tmp_path: Path, text: str, key: str
) -> None:
    settings(tmp_path, text)
    async with host(inline={"box": box}, model=ScriptedModel(["x"], repeat=True)) as world:
        FolderTrust(world.host.config.paths).set(tmp_path, True)
        outcome = await ask(world, tmp_path)
        assert outcome.status == "failed"
        assert key in outcome.error["message"]
        with pytest.raises(ConfigError):
            await world.host.call_tool("where", {}, world.host.local_caller(), folder=tmp_path)
        assert (await ask(world, None)).status == "done"


async def test_fallbacks_of_a_folder_stand_in_there(
    host: HostFactory, box: Plugin, tmp_path: Path
) -> None:
    spare = Plugin(summary="Answers")
    spare.contribute("provider", "spare", lambda context, settings: ScriptedModel(["From spare"]))
    settings(tmp_path, '[agent]\nfallbacks = ["spare"]\n')
    model = ScriptedModel([Fail("billing")], repeat=True)
    inline = {"box": box, "of-spare": spare}
    config = {"providers.scripted-model.type": "scripted-model", "agent.provider": ""}
    async with host(inline=inline, model=model, config=config) as world:
        FolderTrust(world.host.config.paths).set(tmp_path, True)
        assert (await ask(world, tmp_path)).text == "From spare"
        assert (await ask(world, None)).status == "failed"


async def test_settings_that_were_changed_count_from_the_next_turn_on(
    host: HostFactory, box: Plugin, tmp_path: Path
) -> None:
    model = ScriptedModel(["x"], repeat=True)
    settings(tmp_path, '[agent]\nmodel = "one"\n')
    async with host(inline={"box": box}, model=model) as world:
        FolderTrust(world.host.config.paths).set(tmp_path, True)
        await ask(world, tmp_path)
        settings(tmp_path, '[agent]\nmodel = "another"\n')
        await ask(world, tmp_path)
        (tmp_path / ".pegboard" / "config.toml").unlink()
        await ask(world, tmp_path)
    assert [request.model for request in model.requests] == ["one", "another", ""]


async def test_of_many_folders_those_used_longest_ago_are_closed(
    host: HostFactory,
    box: Plugin,
    backend: Backend,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(places, "MOST", 2)
    folders = [tmp_path / name for name in "abcd"]
    async with host(inline={"box": box}, model=ScriptedModel(["x"], repeat=True)) as world:
        for folder in folders:
            folder.mkdir()
            await ask(world, folder)
        await ask(world, folders[0])
        assert [item.closed for item in backend.opened] == [True, True, True, False, False]


async def test_a_worker_works_where_its_turn_does(
    host: HostFactory, box: Plugin, tmp_path: Path
) -> None:
    from pegboard import RunSpec

    boss = Plugin(summary="Has others work")

    @boss.tool(effects={"read"})
    async def delegate(ctx: ToolContext) -> str:
        """Have it done."""
        return (await ctx.runs.start(RunSpec(prompt="where?"))).text

    model = ScriptedModel([Call("delegate"), Call("where"), "found", "done"])
    async with host(inline={"box": box, "boss": boss}, model=model) as world:
        assert (await ask(world, tmp_path, model="big")).status == "done"
    assert str(tmp_path) in model.requests[2].messages[-1].results[0].text
    assert {request.model for request in model.requests} == {"big"}


def test_wishes_are_kept_with_the_message_and_nobody_else_can_set_them() -> None:
    message = InboundMessage(channel="c", chat="1", sender="me", text="x", metadata={"a": "b"})
    marked = TurnOptions(folder=Path("/x"), model="m").marked(message)
    assert marked.metadata == {"a": "b", "_folder": "/x", "_model": "m"}
    assert TurnOptions().marked(message) is message
    assert replace(marked, metadata={}) == replace(message, metadata={})
