"""The provider inside a host: keys, a loop with a tool, and what a person reads when it fails."""

from __future__ import annotations

from typing import Any

import pytest
from counterparts import MATHS, Answer, scripted

from pegboard.testing import HostFactory

pytestmark = pytest.mark.anyio
PLUGIN = "provider-anthropic"
KEY = {"anthropic_api_key": "sk-kept"}
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "double", "input": {"number": 21}}


def says(*content: dict[str, Any], stop: str = "end_turn") -> Answer:
    """Return an answer of whole blocks."""
    return Answer.stream(
        {"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
        *(
            {"type": "content_block_start", "index": index, "content_block": block}
            for index, block in enumerate(content)
        ),
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
        done=False,
    )


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def at(url: str, **settings: Any) -> dict[str, Any]:
    made = {"type": "anthropic", "base_url": url} | settings
    return {"agent.provider": "x", "providers.x": made}


async def test_calls_run_and_the_reasoning_before_them_comes_back(host: HostFactory) -> None:
    async with (
        scripted(says(THINKING, CALL, stop="tool_use"), says(text("It is 42."))) as server,
        host(PLUGIN, inline=MATHS, config=at(server.url), secrets=KEY) as world,
    ):
        outcome = await world.ask("Double 21")
        first, second = (request.json for request in server.requests)
    assert (outcome.status, outcome.text) == ("done", "It is 42.")
    assert server.requests[0].headers["x-api-key"] == "sk-kept"
    assert "double" in [tool["name"] for tool in first["tools"]]
    assert first["system"][0]["cache_control"] == {"type": "ephemeral"}
    said = second["messages"]
    assert said[-2] == {"role": "assistant", "content": [THINKING, CALL]}
    (result,) = said[-1]["content"]
    assert result["tool_use_id"] == "toolu_1"
    assert "42" in result["content"][0]["text"]


async def test_the_next_turn_goes_on_without_old_reasoning(host: HostFactory) -> None:
    answers = says(THINKING, CALL, stop="tool_use"), says(text("It is 42.")), says(text("Yes."))
    async with (
        scripted(*answers) as server,
        host(PLUGIN, inline=MATHS, config=at(server.url), secrets=KEY) as world,
    ):
        await world.ask("Double 21")
        assert (await world.ask("Really?")).text == "Yes."
        said = str(server.requests[2].json["messages"])
    assert "It is 42." in said
    assert "c2ln" not in said


async def test_a_key_that_is_not_set_is_named_with_the_command_that_sets_it(
    host: HostFactory,
) -> None:
    async with host(PLUGIN, config=at("http://127.0.0.1:9")) as world:
        outcome = await world.ask("hello")
    error = outcome.error or {}
    assert "needs the secret anthropic_api_key, which is not set" in error["message"]
    assert error["fix"] == "pegboard secret set anthropic_api_key"


async def test_a_key_that_is_wrong_is_told_with_the_command_that_sets_another(
    host: HostFactory,
) -> None:
    body = {"type": "error", "error": {"type": "authentication_error", "message": "no: sk-kept"}}
    async with (
        scripted(Answer.json(body, "401 Unauthorized")) as server,
        host(PLUGIN, config=at(server.url), secrets=KEY) as world,
    ):
        error = (await world.ask("hello")).error or {}
        assert len(server.requests) == 1
    assert "did not accept the key" in error["message"]
    assert "sk-kept" not in str(error)
    assert error["fix"] == "pegboard secret set anthropic_api_key"


async def test_a_model_that_is_not_there_is_told_with_the_command_that_lists_models(
    host: HostFactory,
) -> None:
    body = {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-nope"}}
    config = at("", model="claude-nope", api_key="")
    async with scripted(Answer.json(body, "404 Not Found")) as server:
        config["providers.x"]["base_url"] = server.url
        async with host(PLUGIN, config=config) as world:
            error = (await world.ask("hello")).error or {}
    assert "model: claude-nope" in error["message"]
    assert error["fix"] == "pegboard models list"


async def test_a_limit_with_its_end_is_one_friendly_sentence(host: HostFactory) -> None:
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    answer = Answer.json(body, "429 Too Many Requests", headers={"retry-after": "1806"})
    async with (
        scripted(answer) as server,
        host(PLUGIN, config=at(server.url), secrets=KEY) as world,
    ):
        error = (await world.ask("hello")).error or {}
        assert len(server.requests) == 1
    assert "You have reached the usage limit of Anthropic" in error["message"]
    assert "31 min" in error["message"]


async def test_a_refusal_ends_the_turn(host: HostFactory) -> None:
    async with (
        scripted(says(stop="refusal")) as server,
        host(PLUGIN, config=at(server.url), secrets=KEY) as world,
    ):
        outcome = await world.ask("hello")
        assert len(server.requests) == 1
    assert (outcome.status, (outcome.error or {})["code"]) == ("failed", "refusal")


async def test_an_answer_that_paused_goes_on(host: HostFactory) -> None:
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    async with (
        scripted(says(text("One, "), search, stop="pause_turn"), says(text("two."))) as server,
        host(PLUGIN, config=at(server.url, cache=False), secrets=KEY) as world,
    ):
        outcome = await world.ask("Count")
        second = server.requests[1].json["messages"]
    assert second[-1] == {"role": "assistant", "content": [text("One, "), search]}
    assert outcome.text == "One, two."
