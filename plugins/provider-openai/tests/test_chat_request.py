"""What is sent to a server that speaks Chat Completions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from counterparts import ECHO, Answer, Kept, answered, ask, asking, called, scripted
from pegboard_provider_openai.chat import ChatProvider
from pegboard_provider_openai.presets import PRESETS

from pegboard import (
    BlobRef,
    CallResult,
    ChatRequest,
    File,
    Image,
    Message,
    ProviderError,
    Text,
    ToolCall,
    ToolDeclaration,
)

pytestmark = pytest.mark.anyio
Chat = Callable[..., ChatProvider]
ANSWER = Answer.stream({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]})
READ = ToolCall("call_1", "read", '{"path": "a"}')


CAT = Image(BlobRef("cat", "image/png", 3, "cat.png"), alt="a cat")
PICTURES = Kept(cat=b"PNG")
CAT_URL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,UE5H"}}


async def sent(chat: Chat, request: ChatRequest, **settings: Any) -> Any:
    async with scripted(ANSWER) as server:
        assert (await ask(chat(server.url, **settings), request)).text == "Hi"
        (only,) = server.requests
        assert only.path == "/v1/chat/completions"
        return only.json


async def test_a_conversation_with_calls(chat: Chat) -> None:
    request = asking(
        Message.of("system", "Be brief."),
        "Read a",
        called(READ, text="I look."),
        answered((READ, "contents")),
        Message.of("assistant", "Done."),
        "Thanks",
        tools=(ECHO,),
    )
    body = await sent(chat, request)
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Read a"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path": "a"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "contents"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks"},
    ]
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "echo",
                "description": ECHO.description,
                "parameters": ECHO.parameters,
            },
        }
    ]
    assert (body["stream"], body["tool_choice"], body["model"]) == (True, "auto", "m-1")


async def test_nothing_is_sent_that_was_not_asked_for(chat: Chat) -> None:
    body = await sent(chat, asking("Hi"))
    assert set(body) == {"model", "messages", "stream", "stream_options"}


async def test_the_model_of_the_request_counts(chat: Chat) -> None:
    assert (await sent(chat, asking(model="m-2")))["model"] == "m-2"


async def test_a_call_without_words_has_no_content(chat: Chat) -> None:
    body = await sent(chat, asking("Hi", called(READ), answered((READ, ""))))
    assert body["messages"][1]["content"] is None
    assert body["messages"][2]["content"] == "(empty)"


async def test_messages_of_nothing_are_marked_as_such(chat: Chat) -> None:
    said = [Message.of("system", ""), Message.of("user", ""), Message("assistant")]
    body = await sent(chat, asking(*said, "Hi"))
    assert [item["content"] for item in body["messages"]] == ["(empty)"] * 3 + ["Hi"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {}),
        (" ", {}),
        ('{"a": 1}', {"a": 1}),
        ("{broken", {"invalid": "{broken"}),
        ("[1]", {"invalid": "[1]"}),
        ("[" * 100_000, {"invalid": "[" * 100_000}),
    ],
)
async def test_arguments_that_are_no_object_are_sent_as_one(
    chat: Chat, arguments: str, expected: Any
) -> None:
    bad = ToolCall("call_1", "read", arguments)
    body = await sent(chat, asking("Hi", called(bad), answered((bad, "Error: no JSON"))))
    told = body["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(told) == expected


async def test_names_that_no_server_takes_are_sent_as_aliases_and_come_back(chat: Chat) -> None:
    name = "mcp:files/read.all"
    tool = ToolDeclaration(name, "Read.", {"type": "object", "properties": {}})
    call = ToolCall("call_1", name, "{}")
    async with scripted(ANSWER) as server:
        provider = chat(server.url)
        request = asking("Hi", called(call), answered((call, "x")), tools=(tool,))
        await ask(provider, request)
        body = server.requests[0].json
        alias = body["tools"][0]["function"]["name"]
        assert body["messages"][1]["tool_calls"][0]["function"]["name"] == alias
        assert alias.replace("_", "").isalnum()
    piece = {"index": 0, "id": "c", "function": {"name": alias, "arguments": "{}"}}
    chunk = {"choices": [{"delta": {"tool_calls": [piece]}, "finish_reason": "tool_calls"}]}
    async with scripted(Answer.stream(chunk)) as server:
        done = (await ask(chat(server.url), request)).done
    assert done.calls == (ToolCall("c", name, "{}"),)


async def test_a_tool_that_can_not_be_declared_is_named_and_costs_no_other(chat: Chat) -> None:
    bad = ToolDeclaration("bad", "Bad.", {"type": "object", "properties": 7})
    async with scripted(ANSWER) as server:
        found = await ask(chat(server.url), asking(tools=(bad, ECHO)))
        tools = server.requests[0].json["tools"]
    assert [tool["function"]["name"] for tool in tools] == ["echo"]
    assert found.notices == ["tool_dropped"]
    assert found.done.text == "Hi"


async def test_no_empty_list_of_tools_is_sent(chat: Chat) -> None:
    bad = ToolDeclaration("bad", "Bad.", {"type": "object", "properties": 7})
    for request in (asking(), asking(tools=(bad,), tool_choice="required")):
        body = await sent(chat, request)
        assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(body)


# --- images and files ----------------------------------------------------------------------------


async def test_an_image_is_sent_where_the_model_takes_it(chat: Chat) -> None:
    request = replace(asking(Message("user", (Text("Look"), CAT))), blobs=PICTURES)
    body = await sent(chat, request, images=True)
    assert body["messages"][0]["content"] == [{"type": "text", "text": "Look"}, CAT_URL]


async def test_an_image_is_told_in_words_where_it_can_not_be_sent(chat: Chat) -> None:
    gone = Image(BlobRef("dog", "image/png", 3, "dog.png"))
    page = File(BlobRef("cat", "application/pdf", 3, "a.pdf"))
    request = replace(asking(Message("user", (Text("Look"), gone, page))), blobs=PICTURES)
    told = (await sent(chat, request, images=True))["messages"][0]["content"]
    assert told.splitlines()[0] == "Look"
    assert "dog.png" in told and "a.pdf" in told and "not shown" in told
    request = replace(asking(Message("user", (CAT,))), blobs=PICTURES)
    assert "a cat" in (await sent(chat, request, images=False))["messages"][0]["content"]


async def test_images_of_results_follow_after_all_results(chat: Chat) -> None:
    first, second = READ, ToolCall("call_2", "see", "{}")
    results = Message(
        "tool",
        results=(
            CallResult("call_1", "read", (Text("one"), CAT)),
            CallResult("call_2", "see", (Text("two"),)),
        ),
    )
    request = replace(asking("Hi", called(first, second), results), blobs=PICTURES)
    messages = (await sent(chat, request, images=True))["messages"]
    assert [item["role"] for item in messages] == ["user", "assistant", "tool", "tool", "user"]
    assert messages[2]["content"] == "one\n[an image, shown below]"
    assert messages[4]["content"] == [CAT_URL]


# --- what servers do otherwise -------------------------------------------------------------------


FULL = asking("Hi", tools=(ECHO,), max_output=50, effort="low")


@pytest.mark.parametrize("server", PRESETS)
async def test_each_server_gets_only_what_it_takes(chat: Chat, server: str) -> None:
    preset = PRESETS[server]
    body = await sent(chat, FULL, server=server)
    assert body[preset.max_tokens] == 50
    assert len({"max_tokens", "max_completion_tokens"} & set(body)) == 1
    assert ("stream_options" in body) is preset.usage_asked
    assert ("reasoning_effort" in body) is preset.effort
    assert ("parallel_tool_calls" in body) is preset.parallel
    assert "store" not in body


def test_presets_are_what_their_vendors_say() -> None:
    told = {
        name: (preset.base_url.partition("://")[2], preset.api_key, preset.max_tokens)
        for name, preset in PRESETS.items()
    }
    assert told == {
        "openai": ("api.openai.com/v1", "openai_api_key", "max_completion_tokens"),
        "deepseek": ("api.deepseek.com/v1", "deepseek_api_key", "max_tokens"),
        "groq": ("api.groq.com/openai/v1", "groq_api_key", "max_completion_tokens"),
        "llamacpp": ("127.0.0.1:8080/v1", "", "max_tokens"),
        "lmstudio": ("127.0.0.1:1234/v1", "", "max_tokens"),
        "mistral": ("api.mistral.ai/v1", "mistral_api_key", "max_tokens"),
        "ollama": ("127.0.0.1:11434/v1", "", "max_tokens"),
        "openrouter": ("openrouter.ai/api/v1", "openrouter_api_key", "max_tokens"),
        "vllm": ("127.0.0.1:8000/v1", "", "max_tokens"),
        "other": ("", "", "max_tokens"),
    }
    # a key goes over an encrypted connection, or nowhere
    assert all(
        preset.base_url.startswith("https://") for preset in PRESETS.values() if preset.api_key
    )


async def test_a_server_of_no_known_kind_needs_an_address(chat: Chat) -> None:
    with pytest.raises(ProviderError) as caught:
        chat("", base_url="")
    assert caught.value.fix == 'base_url = "https://..."'


async def test_the_operator_corrects_what_a_server_does(chat: Chat) -> None:
    body = await sent(
        chat, FULL, max_tokens="max_completion_tokens", usage_asked=False, effort=True
    )
    assert body["max_completion_tokens"] == 50
    assert body["reasoning_effort"] == "low"
    assert "stream_options" not in body
    assert "tools" not in await sent(chat, FULL, tools=False)


async def test_mistral_gets_ids_of_nine_letters_that_still_pair_up(chat: Chat) -> None:
    request = asking("Hi", called(READ), answered((READ, "x")))
    messages = (await sent(chat, request, server="mistral"))["messages"]
    id = messages[1]["tool_calls"][0]["id"]
    assert len(id) == 9 and id.isalnum()
    assert messages[2]["tool_call_id"] == id


@pytest.mark.parametrize("id", ["call_a|fc_b", "functions.echo:0", "x" * 41])
async def test_ids_of_other_providers_become_what_openai_takes(chat: Chat, id: str) -> None:
    call = replace(READ, id=id)
    request = asking("Hi", called(call), answered((call, "x")))
    messages = (await sent(chat, request, server="openai"))["messages"]
    made = messages[1]["tool_calls"][0]["id"]
    assert made.isidentifier() and len(made) <= 40
    assert messages[2]["tool_call_id"] == made
    # another server may have put something into an id that it wants to find there again
    messages = (await sent(chat, request, server="other"))["messages"]
    assert messages[2]["tool_call_id"] == id


@pytest.mark.parametrize(
    ("server", "field", "pieces", "whole"),
    [
        ("deepseek", "reasoning_content", ["I ", "think"], "I think"),
        (
            "openrouter",
            "reasoning_details",
            [
                [{"type": "reasoning.text", "index": 0, "text": "I "}],
                [{"type": "reasoning.text", "index": 0, "text": "think", "signature": None}],
                [{"type": "reasoning.text", "index": 0, "signature": "s"}],
                [{"type": "reasoning.encrypted", "index": 1, "data": "opaque"}],
            ],
            [
                {"type": "reasoning.text", "index": 0, "text": "I think", "signature": "s"},
                {"type": "reasoning.encrypted", "index": 1, "data": "opaque"},
            ],
        ),
    ],
)
async def test_reasoning_comes_back_with_its_calls(
    chat: Chat, server: str, field: str, pieces: list[Any], whole: Any
) -> None:
    call = {"index": 0, "id": "call_1", "function": {"name": "read", "arguments": "{}"}}
    chunks = [{"choices": [{"delta": {field: piece}}]} for piece in pieces]
    end = {"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    async with scripted(Answer.stream(*chunks, end), ANSWER) as peer:
        provider = chat(peer.url, server=server)
        done = (await ask(provider)).done
        made = ToolCall("call_1", "read", "{}")
        assert json.loads(json.dumps(done.state.payload)) == done.state.payload
        grown = asking("Hi", called(made), answered((made, "x")), state=done.state)
        await ask(provider, grown)
        await ask(provider, replace(grown, model="another"))
        assert peer.requests[1].json["messages"][1][field] == whole
        assert field not in peer.requests[2].json["messages"][1]  # another model's reasoning


async def test_reasoning_is_sent_back_only_where_it_is_wanted(chat: Chat) -> None:
    chunk = {"choices": [{"delta": {"reasoning_content": "Hm"}, "finish_reason": "stop"}]}
    async with scripted(Answer.stream(chunk)) as server:
        assert (await ask(chat(server.url))).done.state.payload == []


# --- models --------------------------------------------------------------------------------------


MODELS = {
    "data": [
        {"id": "vllm", "max_model_len": 4_096},
        {"id": "groq", "context_window": 131_072, "max_completion_tokens": 1_000},
        {
            "id": "vendor/router",
            "name": "Router",
            "context_length": 200_000,
            "top_provider": {"max_completion_tokens": 9_000},
            "architecture": {"input_modalities": ["text", "image"]},
        },
        {"id": "mistral", "max_context_length": 32_000, "capabilities": {"vision": True}},
        {"id": "llama", "meta": {"n_ctx": 2_048, "n_ctx_train": 8_192}},
        {"id": "llama"},
        {"id": "gpt-5.5", "context_length": "many"},
        {"id": ""},
        "odd",
    ]
}


async def test_models_are_listed_with_what_the_server_tells_of_them(chat: Chat) -> None:
    async with scripted(Answer.json(MODELS)) as server:
        provider = chat(server.url)
        found = {model.id: model for model in await provider.models()}
        assert server.requests[0].path == "/v1/models"
    sizes = {id: (model.caps.context, model.caps.max_output) for id, model in found.items()}
    assert sizes == {
        "vllm": (4_096, 4_096),
        "groq": (131_072, 1_000),
        "vendor/router": (200_000, 9_000),
        "mistral": (32_000, 8_192),
        "llama": (2_048, 2_048),
        "gpt-5.5": (400_000, 128_000),
    }
    assert [id for id, model in found.items() if model.caps.images] == [
        "vendor/router",
        "mistral",
        "gpt-5.5",
    ]
    assert found["vendor/router"].title == "Router"
    assert provider.capabilities("llama").context == 2_048  # known from now on


async def test_the_operator_s_limits_win(chat: Chat) -> None:
    provider = chat("http://127.0.0.1:1", context=1_000, max_output=5_000)
    caps = provider.capabilities("gpt-5.5")
    assert (caps.context, caps.max_output) == (1_000, 1_000)


async def test_without_a_model_the_first_one_on_offer_is_asked(chat: Chat) -> None:
    async with scripted(Answer.json(MODELS), ANSWER) as server:
        provider = chat(server.url, model="")
        assert (await ask(provider)).text == "Hi"
        assert (await ask(provider)).text == "Hi"
        assert [request.path for request in server.requests] == [
            "/v1/models",
            "/v1/chat/completions",
            "/v1/chat/completions",
        ]
        assert server.requests[1].json["model"] == "vllm"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer.json({"data": []}), "not_found"),
        (Answer.json([]), "protocol"),
        (Answer.json({}, "401 Unauthorized"), "auth"),
    ],
)
async def test_a_server_that_names_no_model_says_so(chat: Chat, answer: Answer, kind: str) -> None:
    async with scripted(answer) as server:
        assert (await ask(chat(server.url, model=""))).failed.kind == kind
