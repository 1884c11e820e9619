"""What goes wrong, and what the host is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest
from counterparts import ECHO, Answer, ask, asking, scripted
from pegboard_provider_anthropic.provider import AnthropicProvider

pytestmark = pytest.mark.anyio
Make = Callable[..., AnthropicProvider]
BEGUN: dict[str, Any] = {"type": "message_start", "message": {"id": "msg_1", "model": "m"}}
TEXT: dict[str, Any] = {
    "type": "content_block_start",
    "index": 0,
    "content_block": {"type": "text", "text": "So far"},
}
CALL: dict[str, Any] = {
    "type": "content_block_start",
    "index": 0,
    "content_block": {"type": "tool_use", "id": "t", "name": "echo", "input": {"text": "a"}},
}
CLOSING: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}


def refused(kind: str, message: str, **details: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message, **details}}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        ("400 Bad Request", refused("invalid_request_error", "max_tokens: too big"), "bad_request"),
        (
            "400 Bad Request",
            refused("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
            "context_overflow",
        ),
        (
            "400 Bad Request",
            refused(
                "invalid_request_error",
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
            ),
            "context_overflow",
        ),
        (
            "400 Bad Request",
            refused("invalid_request_error", "Your credit balance is too low to access the API."),
            "billing",
        ),
        ("401 Unauthorized", refused("authentication_error", "invalid x-api-key"), "auth"),
        ("402 Payment Required", refused("billing_error", "pay"), "billing"),
        ("403 Forbidden", refused("permission_error", "no"), "permission"),
        ("404 Not Found", refused("not_found_error", "model: nope"), "not_found"),
        (
            "413 Request Entity Too Large",
            refused("request_too_large", "Request exceeds the maximum size"),
            "context_overflow",
        ),
        ("429 Too Many Requests", refused("rate_limit_error", "slow down"), "rate_limit"),
        ("500 Internal Server Error", refused("api_error", "oops"), "server"),
        ("504 Gateway Timeout", refused("timeout_error", "late"), "timeout"),
        ("529 Overloaded", refused("overloaded_error", "Overloaded"), "overloaded"),
    ],
)
async def test_each_refusal_is_of_its_kind(
    messages: Make, status: str, body: Any, kind: str
) -> None:
    async with scripted(Answer.json(body, status=status)) as server:
        failed = (await ask(messages(server.url))).failed
    assert (failed.kind, failed.status) == (kind, int(status[:3]))
    assert not failed.started
    assert body["error"]["message"] in failed.message


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (refused("overloaded_error", "Overloaded"), "overloaded"),
        (refused("api_error", "Internal server error"), "server"),
        (refused("rate_limit_error", "slow down"), "rate_limit"),
        ({"error": {"message": "of a proxy"}}, "server"),
        ({"type": "error"}, "server"),
    ],
)
async def test_an_error_in_the_middle_ends_the_stream(
    messages: Make, event: Any, kind: str
) -> None:
    async with scripted(Answer.stream(BEGUN, TEXT, event, CLOSING, done=False)) as server:
        found = await ask(messages(server.url))
    assert found.text == "So far"
    assert found.failed.kind == kind


async def test_an_error_in_place_of_a_stream_is_that_error(messages: Make) -> None:
    async with scripted(Answer.json(refused("overloaded_error", "Overloaded"))) as server:
        assert (await ask(messages(server.url))).failed.kind == "overloaded"


@pytest.mark.parametrize(
    ("headers", "details", "wait"),
    [
        ({"retry-after": "1806"}, {}, 1_806),
        ({"retry-after-ms": "250", "retry-after": "9"}, {}, 0.25),
        (
            {},
            {
                "details": [
                    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36s"}
                ]
            },
            36,
        ),
        ({}, {}, None),
    ],
    ids=["seconds", "milliseconds", "retry info", "nothing"],
)
async def test_when_to_ask_again_is_told(
    messages: Make, headers: Any, details: Any, wait: Any
) -> None:
    body = refused("rate_limit_error", "slow down", **details)
    answer = Answer.json(body, status="429 Too Many Requests", headers=headers)
    async with scripted(answer) as server:
        failed = (await ask(messages(server.url))).failed
    assert (failed.kind, failed.retry_after) == ("rate_limit", wait)


async def test_a_bucket_that_is_empty_tells_when_it_is_filled(messages: Make) -> None:
    at = (datetime.now(UTC) + timedelta(seconds=90)).strftime("%Y-%m-%dT%H:%M:%SZ")
    headers = {
        "anthropic-ratelimit-requests-remaining": "3",
        "anthropic-ratelimit-requests-reset": "2000-01-01T00:00:00Z",
        "anthropic-ratelimit-tokens-remaining": "0",
        "anthropic-ratelimit-tokens-reset": at,
    }
    answer = Answer.json(
        refused("rate_limit_error", "slow"), status="429 Too Many Requests", headers=headers
    )
    async with scripted(answer) as server:
        failed = (await ask(messages(server.url))).failed
    assert failed.retry_after is not None
    assert 80 < failed.retry_after < 91
    assert failed.reset_at is not None


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([], "empty_stream"),
        ([BEGUN], "empty_stream"),
        ([BEGUN, TEXT], "network"),
        ([BEGUN, CALL], "network"),
        ([BEGUN, TEXT, CLOSING], "network"),
        ([BEGUN, "{broken"], "protocol"),
        ([BEGUN, TEXT, "{broken", CLOSING, {"type": "message_stop"}], "protocol"),
        (["[" * 100_000], "protocol"),
    ],
    ids=["nothing", "beginning", "text", "call", "closing", "broken", "broken later", "deep"],
)
@pytest.mark.parametrize("cut", [False, True], ids=["ends", "cut"])
async def test_a_stream_without_its_end_is_no_answer(
    messages: Make, events: list[Any], kind: str, cut: bool
) -> None:
    async with scripted(Answer.stream(*events, done=False, cut=cut)) as server:
        found = await ask(messages(server.url), asking(tools=(ECHO,)))
    wanted = "network" if cut and kind == "empty_stream" else kind
    assert found.failed.kind == wanted


async def test_an_event_of_two_megabytes_is_read(messages: Make) -> None:
    event = {"type": "ping", "padding": "x" * 2_000_000}
    said = [BEGUN, event, TEXT, CLOSING, {"type": "message_stop"}]
    async with scripted(Answer.stream(*said, done=False)) as server:
        assert (await ask(messages(server.url))).done.text == "So far"


async def test_a_server_that_stalls_is_given_up(messages: Make) -> None:
    async with scripted(Answer.stream(BEGUN, TEXT, done=False, stall=True)) as server:
        found = await ask(messages(server.url, idle_s=0.2))
    assert (found.text, found.failed.kind) == ("So far", "timeout")


async def test_closing_the_stream_closes_the_connection(messages: Make) -> None:
    async with scripted(Answer.stream(BEGUN, TEXT, done=False, stall=True)) as server:
        stream = messages(server.url).stream(asking())
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        with anyio.fail_after(2):
            await server.left.wait()


async def test_a_key_that_the_server_repeats_is_not_told(messages: Make, key: str) -> None:
    body = refused("authentication_error", f"invalid x-api-key: {key}")
    async with scripted(Answer.json(body, status="401 Unauthorized")) as server:
        failed = (await ask(messages(server.url))).failed
    assert key not in f"{failed.message} {failed.details}"
    assert "[redacted]" in failed.message
    async with scripted(Answer.stream(refused("api_error", key), done=False)) as server:
        failed = (await ask(messages(server.url))).failed
    assert key not in json.dumps([failed.message, str(failed.details)])


async def test_a_page_in_place_of_an_answer_is_told_shortly(messages: Make) -> None:
    page = Answer([b"<html>" + b"x" * 5_000], status="502 Bad Gateway", kind="text/html")
    async with scripted(page) as server:
        failed = (await ask(messages(server.url))).failed
    assert failed.kind == "server"
    assert len(failed.message) < 700


async def test_a_redirect_is_not_followed(messages: Make) -> None:
    answer = Answer(status="307 Temporary Redirect", headers={"location": "http://127.0.0.1:9/"})
    async with scripted(answer) as server:
        failed = (await ask(messages(server.url))).failed
    assert (failed.kind, failed.status) == ("not_found", 307)
    assert failed.fix is not None
    assert "base_url" in failed.fix
