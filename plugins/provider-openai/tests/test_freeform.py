"""A tool that takes one plain text: declared, called and answered without JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from counterparts import ECHO, Answer, answered, ask, asking, called, scripted
from pegboard_provider_openai.responses import OpenAIProvider

from pegboard import Arg, Plugin, ToolCall, ToolDeclaration
from pegboard.testing import HostFactory

pytestmark = pytest.mark.anyio
Responses = Callable[..., OpenAIProvider]
PARAMETERS = {"type": "object", "properties": {"patch": {"type": "string"}}, "required": ["patch"]}
PATCH = ToolDeclaration("apply_patch", "Change files.", PARAMETERS, freeform="patch")
WRITTEN = "*** Begin Patch\n*** Delete File: a\n*** End Patch"
ITEM = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "apply_patch"}
SAID = {"type": "message", "content": [{"type": "output_text", "text": "Done."}]}


def ended(*output: Any) -> dict[str, Any]:
    response = {"id": "r", "model": "gpt-5.5", "status": "completed", "output": list(output)}
    return {"type": "response.completed", "response": response}


CALLED = Answer.stream(
    {"type": "response.output_item.added", "item": {**ITEM, "input": ""}},
    {"type": "response.custom_tool_call_input.delta", "item_id": "ctc_1", "delta": WRITTEN[:20]},
    {"type": "response.custom_tool_call_input.delta", "item_id": "ctc_1", "delta": WRITTEN[20:]},
    {"type": "response.output_item.done", "item": {**ITEM, "input": WRITTEN}},
    ended(),
    done=False,
)
ANSWER = Answer.stream(ended(SAID), done=False)


@pytest.mark.parametrize(
    ("model", "settings", "custom"),
    [
        ("gpt-5.5", {}, True),
        ("gpt-5.1-codex", {}, True),
        ("codex-mini-latest", {}, True),
        ("gpt-4.1", {}, False),
        ("gpt-5-chat-latest", {}, False),
        ("gpt-5.5", {"freeform": False}, False),
        ("of-tomorrow", {"freeform": True}, True),
    ],
)
async def test_it_is_declared_as_the_model_is_used_to(
    responses: Responses, model: str, settings: dict[str, Any], custom: bool
) -> None:
    async with scripted(ANSWER) as server:
        provider = responses(server.url, model=model, **settings)
        await ask(provider, asking(tools=(ECHO, PATCH)))
        echo, patch = server.requests[0].json["tools"]
    assert echo["type"] == "function"
    if custom:
        assert patch == {"type": "custom", "name": "apply_patch", "description": "Change files."}
    else:
        assert (patch["type"], patch["parameters"]) == ("function", PARAMETERS)


async def test_its_call_is_plain_text_and_comes_back_with_its_result(responses: Responses) -> None:
    async with scripted(CALLED, ANSWER) as server:
        provider = responses(server.url)
        found = await ask(provider, asking("Delete a", tools=(PATCH,)))
        (call,) = found.done.calls
        assert call == ToolCall("call_1", "apply_patch", WRITTEN)
        assert found.done.stop == "tool_use"
        more = asking("Delete a", called(call), answered((call, "ok")), tools=(PATCH,))
        await ask(provider, more)
        items = server.requests[1].json["input"][1:]
    assert items == [
        {"type": "custom_tool_call", "call_id": "call_1", "name": "apply_patch", "input": WRITTEN},
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "ok"},
    ]


async def test_what_the_service_said_comes_back_as_it_was(responses: Responses) -> None:
    async with scripted(CALLED, ANSWER) as server:
        provider = responses(server.url)
        first = asking("Delete a", tools=(PATCH,))
        done = (await ask(provider, first)).done
        (call,) = done.calls
        said = ("Delete a", called(call), answered((call, "ok")))
        await ask(provider, asking(*said, tools=(PATCH,), state=done.state))
        _, item, result = server.requests[1].json["input"]
    assert item == {key: value for key, value in ITEM.items() if key != "id"} | {"input": WRITTEN}
    assert result["type"] == "custom_tool_call_output"


@pytest.mark.parametrize("arguments", ['{"patch": "x"}', '"x"', "x"])
async def test_what_another_provider_wrote_in_json_is_its_text(
    responses: Responses, arguments: str
) -> None:
    call = ToolCall("call_9", "apply_patch", arguments)
    async with scripted(ANSWER) as server:
        request = asking("Go", called(call), answered((call, "ok")), tools=(PATCH,))
        await ask(responses(server.url), request)
        assert server.requests[0].json["input"][1]["input"] == "x"


async def test_a_host_runs_the_tool_with_the_text(host: HostFactory) -> None:
    seen: list[str] = []
    plugin = Plugin(summary="Patches")

    @plugin.tool(effects={"read"})
    def apply_patch(patch: Annotated[str, Arg("The patch.", freeform=True)]) -> str:
        """Change files."""
        seen.append(patch)
        return "ok"

    async with scripted(CALLED, ANSWER) as server:
        config = {
            "agent.provider": "openai",
            "providers.openai": {"base_url": f"{server.url}/v1", "api_key": ""},
        }
        async with host("provider-openai", inline={"patches": plugin}, config=config) as world:
            outcome = await world.ask("Delete a")
        tools = server.requests[0].json["tools"]
    assert (outcome.text, seen) == ("Done.", [WRITTEN])
    assert {"custom"} == {tool["type"] for tool in tools if tool["name"] == "apply_patch"}


async def test_the_vendors_own_types_know_these_shapes(responses: Responses) -> None:
    types = pytest.importorskip("openai.types.responses", reason="no official client")
    from pydantic import TypeAdapter

    async with scripted(CALLED, ANSWER) as server:
        provider = responses(server.url)
        (call,) = (await ask(provider, asking("Go", tools=(PATCH,)))).done.calls
        said = ("Go", called(call), answered((call, "ok")))
        await ask(provider, asking(*said, tools=(PATCH,)))
        body = server.requests[1].json
    for name, sent in (
        ("CustomToolParam", body["tools"][0]),
        ("ResponseCustomToolCallParam", body["input"][1]),
        ("ResponseCustomToolCallOutputParam", body["input"][2]),
    ):
        known = getattr(types, name)
        TypeAdapter(known).validate_python(sent)
        assert set(sent) <= set(known.__annotations__)
    types.ResponseCustomToolCall.model_validate({**ITEM, "input": WRITTEN})
