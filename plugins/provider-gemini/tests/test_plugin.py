"""The provider inside a host: keys, a loop with a tool, and what a person reads when it fails."""

from __future__ import annotations

from typing import Any

import pytest
from counterparts import MATHS, Answer, scripted

from pegboard.testing import HostFactory

pytestmark = pytest.mark.anyio
PLUGIN = "provider-gemini"
KEY = {"gemini_api_key": "AIza-kept"}
SIGNED = {
    "functionCall": {"name": "double", "args": {"number": 21}},
    "thoughtSignature": "c2ln",
}


def says(*parts: dict[str, Any], stop: str = "STOP", **candidate: Any) -> Answer:
    """Return an answer of these parts."""
    made = {"content": {"role": "model", "parts": list(parts)}, "finishReason": stop, **candidate}
    return Answer.stream({"candidates": [made]}, done=False)


def at(url: str, **settings: Any) -> dict[str, Any]:
    made = {"type": "gemini", "base_url": url} | settings
    return {"agent.provider": "x", "providers.x": made}


async def test_calls_run_and_their_signature_comes_back(host: HostFactory) -> None:
    async with (
        scripted(says(SIGNED), says({"text": "It is 42."})) as server,
        host(PLUGIN, inline=MATHS, config=at(server.url), secrets=KEY) as world,
    ):
        outcome = await world.ask("Double 21")
        first, second = (request.json for request in server.requests)
    assert (outcome.status, outcome.text) == ("done", "It is 42.")
    assert server.requests[0].headers["x-goog-api-key"] == "AIza-kept"
    declared = first["tools"][0]["functionDeclarations"]
    assert "double" in [tool["name"] for tool in declared]
    assert second["contents"][-2] == {"role": "model", "parts": [SIGNED]}
    (result,) = second["contents"][-1]["parts"]
    assert result["functionResponse"]["name"] == "double"
    assert "42" in result["functionResponse"]["response"]["output"]
    assert "id" not in result["functionResponse"]


async def test_several_turns_never_use_an_id_twice(host: HostFactory) -> None:
    answers = says(SIGNED, SIGNED), says({"text": "Once."}), says(SIGNED), says({"text": "Twice."})
    async with (
        scripted(*answers) as server,
        host(PLUGIN, inline=MATHS, config=at(server.url), secrets=KEY) as world,
    ):
        await world.ask("Double 21")
        assert (await world.ask("And again")).text == "Twice."
        last = server.requests[3].json["contents"]
    # had an id come twice, its signature would have been lost with it
    assert last[-2] == {"role": "model", "parts": [SIGNED]}


async def test_a_key_that_is_not_set_is_named_with_the_command_that_sets_it(
    host: HostFactory,
) -> None:
    async with host(PLUGIN, config=at("http://127.0.0.1:9")) as world:
        outcome = await world.ask("hello")
    error = outcome.error or {}
    assert "needs the secret gemini_api_key, which is not set" in error["message"]
    assert error["fix"] == "pegboard secret set gemini_api_key"


async def test_a_key_that_is_wrong_is_told_with_the_command_that_sets_another(
    host: HostFactory,
) -> None:
    error = {"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid: AIza-kept"}
    async with (
        scripted(Answer.json({"error": error}, "400 Bad Request")) as server,
        host(PLUGIN, config=at(server.url), secrets=KEY) as world,
    ):
        told = (await world.ask("hello")).error or {}
        assert len(server.requests) == 1
    assert "did not accept the key" in told["message"]
    assert "AIza-kept" not in str(told)
    assert told["fix"] == "pegboard secret set gemini_api_key"


async def test_a_model_that_is_not_there_is_told_with_the_command_that_lists_models(
    host: HostFactory,
) -> None:
    error = {"code": 404, "status": "NOT_FOUND", "message": "models/nope is not found"}
    async with (
        scripted(Answer.json({"error": error}, "404 Not Found")) as server,
        host(PLUGIN, config=at(server.url, model="nope", api_key="")) as world,
    ):
        told = (await world.ask("hello")).error or {}
    assert "models/nope is not found" in told["message"]
    assert told["fix"] == "pegboard models list"


@pytest.mark.parametrize(
    "answer",
    [
        says(stop="SAFETY"),
        Answer.stream({"promptFeedback": {"blockReason": "SAFETY"}}, done=False),
    ],
    ids=["answer", "prompt"],
)
async def test_a_refusal_ends_the_turn(host: HostFactory, answer: Answer) -> None:
    async with (
        scripted(answer) as server,
        host(PLUGIN, config=at(server.url), secrets=KEY) as world,
    ):
        outcome = await world.ask("hello")
        assert len(server.requests) == 1
    assert (outcome.status, (outcome.error or {})["code"]) == ("failed", "refusal")


async def test_a_call_that_cannot_be_read_is_asked_for_once_more(host: HostFactory) -> None:
    async with (
        scripted(says(stop="MALFORMED_FUNCTION_CALL"), says({"text": "Better."})) as server,
        host(PLUGIN, config=at(server.url), secrets=KEY) as world,
    ):
        assert (await world.ask("hello")).text == "Better."
        assert len(server.requests) == 2


async def test_an_answer_that_reached_the_limit_goes_on(host: HostFactory) -> None:
    part = says({"text": "One, "}, stop="CONTINUATION", continuationToken="dG9r")
    async with (
        scripted(part, says({"text": "two."})) as server,
        host(PLUGIN, config=at(server.url), secrets=KEY) as world,
    ):
        outcome = await world.ask("Count")
        second = server.requests[1].json
    assert second["continuationToken"] == "dG9r"
    assert second["contents"][-1]["role"] == "user"
    assert outcome.text == "One, two."
