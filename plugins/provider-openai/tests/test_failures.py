"""What goes wrong with a request has its kind, its hints and no secret."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from counterparts import Answer, ask, asking, scripted

from pegboard import Provider, ProviderError, TextDelta

pytestmark = pytest.mark.anyio
Make = Callable[..., Provider]


@pytest.fixture(params=["chat", "responses"])
def make(request: pytest.FixtureRequest) -> Make:
    """Make a provider of either type."""
    return request.getfixturevalue(request.param)


def said(request: pytest.FixtureRequest) -> Any:
    """Return an event of text in the dialect under test."""
    if "responses" in request.node.name:
        return {"type": "response.output_text.delta", "delta": "Hi"}
    return {"choices": [{"delta": {"content": "Hi"}}]}


def error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


OVERFLOWS = (
    "This model's maximum context length is 128000 tokens. However, your messages resulted in "
    "140000 tokens. Please reduce the length of the messages.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "request (6138 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "Please reduce the length of the messages or completion.",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
    "context length",
    "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    "This endpoint's maximum context length is 8192 tokens.",
)
CASES = [
    ("401 Unauthorized", error("Incorrect API key provided", code="invalid_api_key"), "auth"),
    ("401 Unauthorized", {"error": {"message": "Invalid API Key", "code": 401}}, "auth"),
    ("403 Forbidden", error("Country not supported"), "permission"),
    ("404 Not Found", error("The model `x` does not exist", code="model_not_found"), "not_found"),
    ("404 Not Found", error("model 'x' not found, try pulling it first"), "not_found"),
    ("400 Bad Request", error("Unknown parameter: 'foo'."), "bad_request"),
    ("422 Unprocessable", {"detail": [{"msg": "extra_forbidden"}]}, "bad_request"),
    ("402 Payment Required", error("Insufficient Balance"), "billing"),
    (
        "429 Too Many",
        error("You exceeded your current quota", code="insufficient_quota"),
        "billing",
    ),
    ("429 Too Many", error("Rate limit reached for requests"), "rate_limit"),
    ("500 Internal Server Error", error("The server had an error"), "server"),
    ("502 Bad Gateway", "<html>nginx</html>", "server"),
    ("503 Service Unavailable", error("Loading model", type="unavailable_error"), "overloaded"),
    ("529 Overloaded", "", "overloaded"),
    ("504 Gateway Timeout", "", "timeout"),
    *(("400 Bad Request", error(text), "context_overflow") for text in OVERFLOWS),
    ("413 Too Large", "", "context_overflow"),
]


@pytest.mark.parametrize(("status", "body", "kind"), CASES)
async def test_a_refused_request_has_its_kind(
    make: Make, status: str, body: Any, kind: str
) -> None:
    async with scripted(Answer.json(body, status)) as server:
        failed = (await ask(make(server.url))).failed
        assert len(server.requests) == 1  # asking again is the host's
    assert (failed.kind, failed.status) == (kind, int(status[:3]))
    assert not failed.started


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "7"}, {}, 7),
        ({"retry-after": "1806"}, {}, 1806),
        ({"retry-after-ms": "250", "retry-after": "7"}, {}, 0.25),
        ({"retry-after": "7", "x-ratelimit-reset-tokens": "6m0s"}, {}, 7),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, {}, 360),
        ({}, error("Rate limit reached. Please try again in 1m4.5s."), 64.5),
        ({"retry-after": "soon"}, {}, None),
        ({}, {}, None),
    ],
)
async def test_a_limit_tells_when_to_come_back(
    make: Make, headers: dict[str, str], body: Any, seconds: float | None
) -> None:
    async with scripted(Answer.json(body, "429 Too Many", headers=headers)) as server:
        before = time.time()
        failed = (await ask(make(server.url))).failed
    assert failed.retry_after == seconds
    if seconds is not None:
        assert failed.reset_at == pytest.approx(before + seconds, abs=20)


async def test_a_key_that_a_server_echoes_is_told_nowhere(
    make: Make, key: str, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    echo = error(f"Incorrect API key provided: {key}", code="invalid_api_key")
    async with scripted(
        Answer.json(echo, "401 Unauthorized"),
        Answer.json({"error": f"Bearer {key}"}, "500 Oops"),
        Answer([f"<p>{key}</p>".encode()], status="502 Bad", kind="text/html"),
        Answer.stream(said(request), error(f"bad key {key}")),
    ) as server:
        provider = make(server.url)
        for _ in range(4):
            failed = (await ask(provider)).failed
            assert key not in f"{failed} {failed!r} {vars(failed)}"
            assert "[redacted]" in str(failed)
        assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    assert key not in caplog.text


async def test_a_server_that_stalls_is_left(make: Make, request: pytest.FixtureRequest) -> None:
    stalls = Answer.stream(said(request), done=False, stall=True)
    async with scripted(stalls) as server:
        found = await ask(make(server.url, idle_s=0.2))
        assert (found.text, found.failed.kind) == ("Hi", "timeout")
        with anyio.fail_after(5):
            await server.left.wait()


async def test_a_server_that_never_begins_is_left(make: Make) -> None:
    async with scripted(Answer([], stall=True)) as server:
        assert (await ask(make(server.url, idle_s=0.2))).failed.kind == "timeout"


async def test_an_error_whose_body_stalls_or_breaks_keeps_its_status(make: Make) -> None:
    for options in ({"stall": True}, {"cut": True}):
        broken = Answer([b'{"error": {"mess'], status="429 Slow", kind="", **options)
        async with scripted(broken) as server:
            failed = (await ask(make(server.url, idle_s=0.2))).failed
        assert (failed.kind, failed.status) == ("rate_limit", 429)


async def test_leaving_a_stream_closes_its_connection_at_once(
    make: Make, request: pytest.FixtureRequest
) -> None:
    stalls = Answer.stream(said(request), done=False, stall=True)
    async with scripted(stalls) as server:
        async with aclosing(make(server.url).stream(asking())) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        with anyio.fail_after(5):
            await server.left.wait()


async def test_cancelling_a_stream_closes_its_connection(
    make: Make, request: pytest.FixtureRequest
) -> None:
    async with scripted(Answer.stream(said(request), done=False, stall=True)) as server:
        with anyio.move_on_after(0.3) as scope:
            await ask(make(server.url))
        assert scope.cancelled_caught
        with anyio.fail_after(5):
            await server.left.wait()


async def test_a_redirect_is_not_followed_with_the_key(make: Make) -> None:
    async with scripted(Answer.json({}, "200 OK")) as other:
        moved = Answer([], status="307 Moved", headers={"location": f"{other.url}/v1"})
        async with scripted(moved) as server:
            failed = (await ask(make(server.url))).failed
        assert other.requests == []
    assert failed.kind == "not_found"
    assert "base_url" in (failed.fix or "")


async def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    async with scripted(Answer.json(error("here"), "500 Oops")) as server:
        assert (await ask(make(server.url))).failed.kind == "server"


async def test_a_proxy_of_the_environment_is_used_for_all_else(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with scripted(Answer.json(error("by proxy"), "500 Oops")) as proxy:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, proxy.url)
        failed = (await ask(make("http://models.example"))).failed
        assert proxy.requests[0].path.startswith("http://models.example/v1/")
    assert "by proxy" in str(failed)


@pytest.mark.parametrize("key", ["sk-\nbroken", "sk-ключ", "a b\x7f"])
async def test_a_key_that_can_not_be_sent_is_refused_unspoken(make: Make, key: str) -> None:
    with pytest.raises(ProviderError) as caught:
        make("http://127.0.0.1:1", key=key)
    assert caught.value.kind == "auth"
    assert "pegboard secret set" in (caught.value.fix or "")
    assert key not in str(caught.value)


async def test_spaces_around_a_key_are_no_part_of_it(make: Make) -> None:
    async with scripted(Answer.json({}, "500 Oops")) as server:
        await ask(make(server.url, key=" sk-1\n"))
        assert server.requests[0].headers["authorization"] == "Bearer sk-1"


async def test_without_a_key_none_is_sent(make: Make) -> None:
    async with scripted(Answer.json({}, "500 Oops")) as server:
        await ask(make(server.url, key=""))
        assert "authorization" not in server.requests[0].headers


async def test_half_characters_in_a_request_are_sent_as_what_they_can_be(make: Make) -> None:
    async with scripted(Answer.json({}, "500 Oops")) as server:
        await ask(
            make(server.url), asking("one \ud83e half, one 🧩 whole, one \ud83e\udde9 in two")
        )
        body = server.requests[0].body.decode()
    assert json.loads(body)
    assert "one � half, one 🧩 whole, one 🧩 in two" in body


async def test_compressed_answers_are_not_asked_for(make: Make) -> None:
    async with scripted(Answer.json({}, "500 Oops")) as server:
        await ask(make(server.url))
        assert server.requests[0].headers["accept-encoding"] == "identity"
