"""What is sent to OpenAI."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from counterparts import ECHO, Answer, Kept, answered, ask, asking, called, scripted
from pegboard_provider_openai.responses import OpenAIProvider

from pegboard import (
    BlobRef,
    CallResult,
    ChatRequest,
    File,
    Image,
    Message,
    ProviderState,
    Text,
    ToolCall,
    ToolDeclaration,
)

pytestmark = pytest.mark.anyio
Responses = Callable[..., OpenAIProvider]
READ = ToolCall("call_1", "read", '{"path": "a"}')


def ended(*output: Any) -> Answer:
    response = {"id": "r", "status": "completed", "output": list(output)}
    return Answer.stream({"type": "response.completed", "response": response}, done=False)


SAID = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Hi"}]}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "read",
    "arguments": '{"path": "a"}',
    "status": "completed",
}


async def sent(responses: Responses, request: ChatRequest, **settings: Any) -> Any:
    async with scripted(ended(SAID)) as server:
        assert (await ask(responses(server.url, **settings), request)).text == "Hi"
        (only,) = server.requests
        assert only.path == "/v1/responses"
        return only.json


async def test_a_conversation_with_calls(responses: Responses) -> None:
    request = asking(
        Message.of("system", "Be brief."),
        Message.of("system", "Be kind."),
        "Read a",
        called(READ, text="I look."),
        answered((READ, "contents")),
        Message.of("assistant", "Done."),
        "Thanks",
        tools=(ECHO,),
        tool_choice="required",
        max_output=50,
    )
    body = await sent(responses, request)

    def said(text: str) -> Any:
        content = [{"type": "output_text", "text": text}]
        return {"type": "message", "role": "assistant", "content": content}

    assert body["instructions"] == "Be brief.\n\nBe kind."
    assert body["input"] == [
        {"role": "user", "content": [{"type": "input_text", "text": "Read a"}]},
        said("I look."),
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "read",
            "arguments": '{"path": "a"}',
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "contents"},
        said("Done."),
        {"role": "user", "content": [{"type": "input_text", "text": "Thanks"}]},
    ]
    assert body["tools"] == [
        {
            "type": "function",
            "name": "echo",
            "description": ECHO.description,
            "parameters": ECHO.parameters,
            "strict": False,
        }
    ]
    assert (body["tool_choice"], body["max_output_tokens"]) == ("required", 50)


async def test_nothing_is_kept_at_the_provider(responses: Responses) -> None:
    body = await sent(responses, asking())
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]
    assert set(body) == {"model", "input", "stream", "store", "include"}


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1-mini", "chatgpt-4o-latest", "gpt-5-chat"])
async def test_a_model_that_does_not_reason_is_not_asked_to(
    responses: Responses, model: str
) -> None:
    body = await sent(responses, asking(model=model, effort="low"), summaries=True)
    assert not {"include", "reasoning"} & set(body)


@pytest.mark.parametrize("model", ["gpt-5.5", "gpt-5", "o3", "o4-mini", "gpt-oss-120b", "new"])
async def test_a_model_that_reasons_is_told_how_much(responses: Responses, model: str) -> None:
    body = await sent(responses, asking(model=model, effort="low"))
    assert body["reasoning"] == {"effort": "low"}
    body = await sent(responses, asking(model=model), summaries=True)
    assert body["reasoning"] == {"summary": "auto"}


@pytest.mark.parametrize("id", ["call_a|fc_b", "functions.echo:0", "x" * 65])
async def test_ids_of_other_providers_become_what_the_service_takes(
    responses: Responses, id: str
) -> None:
    call = replace(READ, id=id)
    body = await sent(responses, asking("Hi", called(call), answered((call, "x"))))
    made = [item["call_id"] for item in body["input"] if "call_id" in item]
    assert len(made) == 2 and len({*made}) == 1
    assert made[0].isidentifier() and len(made[0]) <= 64


async def test_what_the_model_said_comes_back_as_it_was(responses: Responses) -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"}
    lost = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": None}
    async with scripted(ended(reasoning, lost, SAID, CALL), ended(SAID)) as server:
        provider = responses(server.url)
        done = (await ask(provider)).done
        state = replace(done.state, payload=json.loads(json.dumps(done.state.payload)))
        grown = asking("Read a", called(READ, text="Hi"), answered((READ, "x")), state=state)
        await ask(provider, grown)
        body = server.requests[1].json
    # ids would be looked up, and reasoning that is not in its item is lost
    kept = [
        {key: value for key, value in item.items() if key != "id"}
        for item in (reasoning, SAID, CALL)
    ]
    assert body["input"][1:] == [
        *kept,
        {"type": "function_call_output", "call_id": "call_1", "output": "x"},
    ]


async def test_the_state_of_another_model_or_key_is_not_sent(responses: Responses) -> None:
    async with scripted(ended(CALL), ended(SAID)) as server:
        provider = responses(server.url)
        state = (await ask(provider)).done.state
        grown = asking("Read a", called(READ), answered((READ, "x")), state=state)
        await ask(provider, replace(grown, model="gpt-5.4"))
        await ask(responses(server.url, key="another"), grown)
        for request in server.requests[1:]:
            assert "status" not in request.json["input"][1]


@pytest.mark.parametrize("payload", [None, 7, "text", {}, [7], [{"calls": 1}], [{"wire": []}]])
async def test_a_state_of_another_form_says_nothing(responses: Responses, payload: Any) -> None:
    async with scripted(ended(SAID)) as server:
        provider = responses(server.url)
        known = (await ask(provider)).done.state
        state = ProviderState(known.provider, known.dialect, known.model, known.route, payload)
        assert (await ask(provider, asking("Hi", called(READ), state=state))).text == "Hi"


async def test_images_and_files_are_sent_in_messages_and_results(responses: Responses) -> None:
    blobs = Kept(cat=b"cat", pdf=b"pdf", zip=b"zip")
    cat = Image(BlobRef("cat", "image/png", 3, "cat.png"))
    page = File(BlobRef("pdf", "application/pdf", 3, "a.pdf"))
    odd = File(BlobRef("zip", "application/zip", 3, "a.zip"))
    results = Message("tool", results=(CallResult("call_1", "read", (Text("one"), cat)),))
    user = Message("user", (Text("Look"), cat, page, odd))
    body = await sent(responses, asking(user, called(READ), results, blobs=blobs))
    image = {"type": "input_image", "image_url": "data:image/png;base64,Y2F0"}
    assert body["input"][0]["content"][:3] == [
        {"type": "input_text", "text": "Look"},
        image,
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": "data:application/pdf;base64,cGRm",
        },
    ]
    assert "a.zip" in body["input"][0]["content"][3]["text"]
    assert body["input"][2]["output"] == [{"type": "input_text", "text": "one"}, image]


async def test_messages_and_results_of_nothing_are_marked_as_such(responses: Responses) -> None:
    user = Message.of("user", "")
    body = await sent(responses, asking(Message("user"), user, called(READ), answered((READ, ""))))
    assert body["input"][0]["content"] == [{"type": "input_text", "text": "(empty)"}]
    assert body["input"][-1]["output"] == "(empty)"


async def test_a_bad_tool_is_named_and_costs_no_other(responses: Responses) -> None:
    bad = ToolDeclaration("bad", "Bad.", {"type": "object", "properties": 7})
    async with scripted(ended(SAID)) as server:
        found = await ask(responses(server.url), asking(tools=(bad, ECHO)))
        tools = server.requests[0].json["tools"]
    assert [tool["name"] for tool in tools] == ["echo"]
    assert found.notices == ["tool_dropped"]


async def test_models_are_listed(responses: Responses) -> None:
    async with scripted(Answer.json({"data": [{"id": "gpt-5.5"}, {"id": "o3"}]})) as server:
        found = await responses(server.url).models()
    assert [(model.id, model.caps.context) for model in found] == [
        ("gpt-5.5", 400_000),
        ("o3", 200_000),
    ]
