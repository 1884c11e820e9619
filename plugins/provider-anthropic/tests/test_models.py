"""The list of models, and the limits in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from counterparts import Answer, ask, asking, scripted
from pegboard_provider_anthropic.provider import AnthropicProvider

from pegboard import ProviderError

pytestmark = pytest.mark.anyio
Make = Callable[..., AnthropicProvider]


def listed(*models: Any, **page: Any) -> Answer:
    return Answer.json({"data": list(models), **page})


async def test_every_page_is_read_and_the_services_limits_count(messages: Make) -> None:
    small = {
        "id": "claude-a/b",
        "display_name": "A",
        "max_input_tokens": 50_000,
        "max_tokens": 9_000,
        "capabilities": {"image_input": {"supported": False}},
    }
    pages = [
        listed(small, {"id": "gone", "lifecycle": "retired"}, has_more=True, last_id="claude-a/b"),
        listed({"id": "claude-a/b"}, {"id": "claude-opus-5"}, 7, {"id": ""}, has_more=False),
    ]
    async with scripted(*pages) as server:
        provider = messages(server.url)
        found = await provider.models()
        paths = [request.path for request in server.requests]
    assert paths == ["/v1/models?limit=100", "/v1/models?limit=100&after_id=claude-a%2Fb"]
    assert [model.id for model in found] == ["claude-a/b", "claude-opus-5"]
    assert provider.capabilities("claude-opus-5").context == 200_000


async def test_what_the_service_said_of_a_model_is_known_from_then_on(messages: Make) -> None:
    item = {
        "id": "claude-new",
        "display_name": "New",
        "max_input_tokens": 50_000,
        "max_tokens": 90_000,
        "capabilities": {"image_input": {"supported": False}},
    }
    async with scripted(listed(item)) as server:
        provider = messages(server.url)
        assert provider.capabilities("claude-new").images
        (model,) = await provider.models()
    caps = provider.capabilities("claude-new")
    assert (caps.context, caps.max_output, caps.images) == (50_000, 50_000, False)
    assert (model.title, model.caps) == ("New", caps)
    assert model.told == {"context", "max_output", "images"}


async def test_the_settings_have_the_last_word(messages: Make) -> None:
    provider = messages("http://127.0.0.1:9", context=1_000, max_output=2_000)
    caps = provider.capabilities("")
    assert (caps.context, caps.max_output) == (1_000, 1_000)


async def test_a_server_that_always_has_more_is_not_asked_for_ever(messages: Make) -> None:
    async with scripted(listed({"id": "a"}, has_more=True, last_id="a")) as server:
        assert [model.id for model in await messages(server.url).models()] == ["a"]
        assert len(server.requests) == 2


@pytest.mark.parametrize("body", [[], {}, {"data": None}, {"data": "x"}])
async def test_a_list_that_is_none_is_told(messages: Make, body: Any) -> None:
    async with scripted(Answer.json(body)) as server:
        with pytest.raises(ProviderError) as caught:
            await messages(server.url).models()
    assert caught.value.kind == "protocol"


async def test_how_far_requests_go_is_told(messages: Make) -> None:
    assert messages("http://127.0.0.1:9").info.network == "loopback"
    assert messages("https://api.anthropic.com").info.network == "internet"


async def test_the_usual_model_is_asked_when_nobody_names_one(messages: Make) -> None:
    async with scripted(Answer.json({"error": {"message": "no"}}, status="404 No")) as server:
        await ask(messages(server.url, model="claude-mine"), asking())
        assert server.requests[0].json["model"] == "claude-mine"
