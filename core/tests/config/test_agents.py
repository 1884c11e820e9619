"""Names of agents that do not exist are told when the settings are read, with the right ones."""

from __future__ import annotations

from typing import Any

import pytest

from pegboard.config.agents import agent_problems
from pegboard.config.load import load
from pegboard.config.paths import find_paths
from pegboard.contracts.errors import ConfigError


def told(**data: Any) -> list[tuple[str, str, str | None]]:
    return [tuple(problem) for problem in agent_problems(data)]


def test_without_agents_nothing_is_wrong() -> None:
    assert told() == []
    assert told(agents={}, channels={"tg": {"type": "telegram", "agent": "main"}}) == []


def test_names_that_exist_are_right() -> None:
    agents = {
        "main": {"delegates": ["research", "digger"]},
        "research": {"delegates": ["main"], "senders": ["tg:1"]},
        "digger": {"role": "sub"},
    }
    assert told(agents=agents, channels={"tg": {"agent": "research"}}) == []


def test_a_misspelt_delegate_is_told_with_the_right_name() -> None:
    ((path, message, fix),) = told(
        agents={"main": {"delegates": ["helper", "reserch"]}, "research": {}, "helper": {}}
    )
    assert path == "agents.main.delegates"
    assert "there is no agent 'reserch'; did you mean 'research'?" in message
    assert fix == """pegboard config set agents.main.delegates '["helper", "research"]'"""


def test_a_delegate_like_no_other_is_left_out_by_the_fix() -> None:
    ((_, _, fix),) = told(agents={"main": {"delegates": ["helper", "zzz"]}, "helper": {}})
    assert fix == """pegboard config set agents.main.delegates '["helper"]'"""


def test_nobody_delegates_to_itself() -> None:
    ((_, message, fix),) = told(agents={"a": {"delegates": ["a", "main"]}})
    assert "can't delegate to itself" in message
    assert fix == """pegboard config set agents.a.delegates '["main"]'"""


def test_a_channels_agent_must_exist_and_talk() -> None:
    agents = {"research": {}, "digger": {"role": "sub"}}
    ((path, message, fix),) = told(agents=agents, channels={"tg": {"agent": "reserch"}})
    assert path == "channels.tg.agent"
    assert "did you mean 'research'" in message
    assert fix == "pegboard config set channels.tg.agent research"
    ((_, message, fix),) = told(agents=agents, channels={"tg": {"agent": "digger"}})
    assert "talks to nobody" in message
    assert fix == "pegboard config set agents.digger.role main"
    ((_, _, fix),) = told(channels={"tg": {"agent": "nobody-like-this"}})
    assert fix == "pegboard config unset channels.tg.agent"


def test_a_sender_is_answered_by_one_agent() -> None:
    ((path, message, _),) = told(agents={"a": {"senders": ["tg:1"]}, "b": {"senders": ["tg:1"]}})
    assert (path, message) == (
        "agents.b.senders",
        "agents.b.senders: 'tg:1' is answered by a already",
    )
    ((_, message, _),) = told(agents={"a": {"role": "sub", "senders": ["tg:1"]}})
    assert "talks to nobody" in message


@pytest.mark.parametrize("name", ["Main", "a b", "", "-a", "ä", "x" * 64, "a/b"])
def test_a_name_that_could_not_be_part_of_a_key_is_refused(name: str) -> None:
    ((_, message, _),) = told(agents={name: {}})
    assert "an agent's name has" in message


def test_main_answers_people() -> None:
    ((path, _, _),) = told(agents={"main": {"role": "sub"}})
    assert path == "agents.main.role"


@pytest.mark.parametrize(
    "data",
    [
        {"agents": 1, "channels": 2},
        {"agents": {"a": 1}, "channels": {"tg": []}},
        {"agents": {"a": {"delegates": "a", "senders": "x", "role": 3}}},
        {"agents": {"a": {"delegates": [1], "senders": [2]}}, "channels": {"tg": {"agent": 1}}},
    ],
)
def test_what_is_of_a_wrong_type_is_left_to_the_schema(data: dict[str, Any]) -> None:
    assert told(**data) == []


def test_a_host_does_not_start_with_a_wrong_name(tmp_path) -> None:
    paths = find_paths({"PEGBOARD_HOME": str(tmp_path)})
    config = load(paths, env={}, overrides={"agents.main.delegates": ["nobody"]})
    with pytest.raises(ConfigError, match="there is no agent 'nobody'"):
        config.require_valid()
    known = load(paths, env={}, overrides={"agents.main.delegates": ["x"], "agents.x.role": "sub"})
    known.require_valid()


def test_a_misspelt_key_of_an_agent_is_told(tmp_path) -> None:
    paths = find_paths({"PEGBOARD_HOME": str(tmp_path)})
    config = load(paths, env={}, overrides={"agents.x.promt": "hi"})
    with pytest.raises(ConfigError, match="did you mean 'prompt'"):
        config.require_valid()
