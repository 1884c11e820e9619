"""The list of models, and the limits in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from counterparts import Answer, ask, asking, scripted
from pegboard_provider_gemini.provider import GeminiProvider

from pegboard import ProviderError

pytestmark = pytest.mark.anyio
Make = Callable[..., GeminiProvider]


def listed(*models: Any, **page: Any) -> Answer:
    return Answer.json({"models": list(models), **page})


async def test_every_page_is_read_and_the_services_limits_count(gemini: Make) -> None:
    pages = [
        listed(
            {
                "name": "models/gemini-new",
                "displayName": "New",
                "inputTokenLimit": 50_000,
                "outputTokenLimit": 90_000,
                "supportedGenerationMethods": ["generateContent"],
            },
            {"name": "models/embedding", "supportedGenerationMethods": ["embedContent"]},
            nextPageToken="a/b",
        ),
        listed({"name": "models/gemini-3-pro"}, {"name": "models/gemini-3-pro"}, 7, {"name": ""}),
    ]
    async with scripted(*pages) as server:
        provider = gemini(server.url)
        found = await provider.models()
        paths = [request.path for request in server.requests]
    assert paths == [
        "/v1beta/models?pageSize=1000",
        "/v1beta/models?pageSize=1000&pageToken=a%2Fb",
    ]
    assert [(model.id, model.title) for model in found] == [
        ("gemini-new", "New"),
        ("gemini-3-pro", ""),
    ]
    caps = provider.capabilities("models/gemini-new")
    assert (caps.context, caps.max_output) == (50_000, 50_000)
    assert found[0].caps == caps
    assert [model.told for model in found] == [{"context", "max_output"}, set()]


async def test_the_settings_have_the_last_word(gemini: Make) -> None:
    provider = gemini("http://127.0.0.1:9", context=1_000, max_output=2_000)
    caps = provider.capabilities("")
    assert (caps.context, caps.max_output) == (1_000, 1_000)


async def test_a_server_that_always_has_more_is_not_asked_for_ever(gemini: Make) -> None:
    async with scripted(listed({"name": "models/a"}, nextPageToken="x")) as server:
        assert [model.id for model in await gemini(server.url).models()] == ["a"]
        assert len(server.requests) == 2


@pytest.mark.parametrize("body", [[], {}, {"models": None}, {"models": "x"}])
async def test_a_list_that_is_none_is_told(gemini: Make, body: Any) -> None:
    async with scripted(Answer.json(body)) as server:
        with pytest.raises(ProviderError) as caught:
            await gemini(server.url).models()
    assert caught.value.kind == "protocol"


async def test_how_far_requests_go_is_told(gemini: Make) -> None:
    assert gemini("http://127.0.0.1:9").info.network == "loopback"
    assert gemini("https://generativelanguage.googleapis.com").info.network == "internet"


async def test_the_usual_model_is_asked_when_nobody_names_one(gemini: Make) -> None:
    async with scripted(Answer.json({"error": {"message": "no"}}, status="404 No")) as server:
        await ask(gemini(server.url, model="gemini-mine"), asking())
        assert "/models/gemini-mine:" in server.requests[0].path
