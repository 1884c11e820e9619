"""Chat commands as manifests state them: what can't work is said, and a word has one owner."""

from __future__ import annotations

from typing import Any

import pytest

from pegboard import Plugin
from pegboard.contracts.errors import BuildError
from pegboard.plugins.building.build import build_manifest
from pegboard.plugins.decision.chat_commands import chat_commands
from pegboard.plugins.declared import Contribution

TOOL = {
    "name": "deploy",
    "description": "Deploy.",
    "parameters": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "where": {"type": "string"},
            "dry": {"type": "boolean"},
            "size": {"enum": [1, 2]},
        },
        "required": ["where"],
    },
}
SCRIPTS = {**TOOL, "name": "loop", "exposure": "codemode"}


def command(name: str = "ship", **facts: Any) -> dict[str, Any]:
    return {"kind": "chat_command", "name": name, "facts": {"tool": "deploy", **facts}}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"argument": "where"}, ""),
        ({"argument": "where", "arguments": {"dry": True, "size": 2}}, ""),
        ({"arguments": {"where": "here"}}, ""),
        ({}, "the tool deploy needs the argument 'where'"),
        ({"argument": "were"}, "the tool deploy has no argument 'were'; did you mean 'where'?"),
        ({"argument": "where", "arguments": {"where": "here"}}, "'where' has a fixed value"),
        ({"argument": "where", "arguments": {"dri": True}}, "has no argument 'dri'"),
        ({"argument": "where", "arguments": {"dry": 7}}, "arguments.dry must be true or false"),
        ({"argument": "where", "arguments": {"size": 3}}, "arguments.size"),
        ({"tool": "deplay"}, "the plugin has no tool 'deplay'; did you mean 'deploy'?"),
        ({"tool": 7}, "its tool is 7"),
        ({"tool": "loop", "argument": "where"}, "the tool loop is for scripts only"),
        ({"argument": "where", "argumets": {}}, "it has no 'argumets'; did you mean 'arguments'?"),
        ({"name": "Ship", "argument": "where"}, "a word of small letters"),
        ({"name": "ship it", "argument": "where"}, "a word of small letters"),
        ({"name": "s" * 33, "argument": "where"}, "at most 32"),
    ],
)
def test_a_command_that_calls_nothing_breaks_its_plugin(machine, facts, words: str) -> None:
    machine.site.add("sea", tools=[TOOL, SCRIPTS], contributions=[command(**facts)])
    record = machine.only(machine.boot(), "sea")
    assert record.state == ("failed" if words else "ready"), record.reason
    assert words in record.reason


def test_a_word_of_two_is_nobodys_and_pegboards_own_stay_its_own(machine) -> None:
    brings = [command(name, argument="where") for name in ("ship", "help", "sail")]
    machine.site.add("sea", dist="acme-sea", tools=[TOOL], contributions=brings[:2])
    machine.site.add("air", dist="acme-air", tools=[TOOL], contributions=brings[::2])
    machine.site.add("web", tools=[TOOL], contributions=[command("land", argument="were")])
    found, problems = chat_commands(machine.boot().records)
    assert {name: record.id for name, (record, _) in found.items()} == {"sail": "air"}
    assert [(problem.path, problem.fix) for problem in problems] == [
        ("/help", "pegboard plugins disable sea"),
        ("/ship", "pegboard plugins disable sea"),
    ]
    assert problems[0].message == (
        "sea (acme-sea) can't have the chat command /help, which is Pegboard's own"
    )
    assert problems[1].message == (
        "air (acme-air) and sea (acme-sea) both bring the chat command /ship, so neither has it"
    )


def declared(**facts: Any) -> Plugin:
    plugin = Plugin(summary="Ships.")

    @plugin.tool(effects=[])
    async def deploy(where: str, dry: bool = False) -> str:
        """Deploy."""
        return where

    plugin.chat_command("ship", **{"tool": "deploy", "argument": "where", **facts})
    return plugin


def test_what_a_plugin_declares_is_in_its_manifest() -> None:
    built = build_manifest("sea", "sea:plugin", declared(arguments={"dry": True}, summary="Ship."))
    assert built["contributions"] == [
        {
            "kind": "chat_command",
            "name": "ship",
            "summary": "Ship.",
            "config": None,
            "facts": {"tool": "deploy", "argument": "where", "arguments": {"dry": True}},
        }
    ]


def test_an_author_is_told_when_it_is_built() -> None:
    with pytest.raises(BuildError, match="chat command /ship: the plugin has no tool 'dply'"):
        build_manifest("sea", "sea:plugin", declared(tool="dply"))
    plugin = Plugin(summary="Ships.")
    plugin.contribute("chat_command", "ship", lambda: None)
    with pytest.raises(BuildError, match="ship has a factory; its facts say what it calls"):
        build_manifest("sea", "sea:plugin", plugin)
    plugin = Plugin(summary="Ships.")
    plugin._contributions.append(Contribution(kind="provider", name="sea"))
    with pytest.raises(BuildError, match="provider sea has no factory"):
        build_manifest("sea", "sea:plugin", plugin)
