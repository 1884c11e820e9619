"""What goes wrong, and what the host is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from counterparts import ECHO, Answer, ask, asking, scripted
from pegboard_provider_gemini.provider import GeminiProvider

pytestmark = pytest.mark.anyio
Make = Callable[..., GeminiProvider]
TEXT: dict[str, Any] = {"candidates": [{"content": {"parts": [{"text": "So far"}]}}]}
CALL: dict[str, Any] = {
    "candidates": [{"content": {"parts": [{"functionCall": {"name": "echo", "args": {}}}]}}]
}
USAGE: dict[str, Any] = {"usageMetadata": {"promptTokenCount": 3}}
KEY_WRONG = "API key not valid. Please pass a valid API key."
QUOTA = "You exceeded your current quota, please check your plan and billing details."


def refused(code: int, status: str, message: str, *details: Any) -> dict[str, Any]:
    error = {"code": code, "message": message, "status": status, "details": list(details)}
    return {"error": error}


def retry(delay: str) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


PER_DAY = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
}


@pytest.mark.parametrize(
    ("line", "body", "kind", "wait"),
    [
        ("400 Bad Request", refused(400, "INVALID_ARGUMENT", "bad field"), "bad_request", None),
        ("400 Bad Request", refused(400, "INVALID_ARGUMENT", KEY_WRONG), "auth", None),
        (
            "400 Bad Request",
            refused(
                400,
                "INVALID_ARGUMENT",
                "The input token count (1200000) exceeds the maximum number of tokens allowed "
                "(1048576).",
            ),
            "context_overflow",
            None,
        ),
        ("401 Unauthorized", refused(401, "UNAUTHENTICATED", "who?"), "auth", None),
        ("403 Forbidden", refused(403, "PERMISSION_DENIED", "no"), "permission", None),
        ("404 Not Found", refused(404, "NOT_FOUND", "models/nope"), "not_found", None),
        (
            "429 Too Many Requests",
            refused(429, "RESOURCE_EXHAUSTED", QUOTA, PER_DAY, retry("36s")),
            "rate_limit",
            36.0,
        ),
        (
            "429 Too Many Requests",
            [refused(429, "RESOURCE_EXHAUSTED", QUOTA, retry("36.5s"))],
            "rate_limit",
            36.5,
        ),
        ("429 Too Many Requests", refused(429, "RESOURCE_EXHAUSTED", QUOTA), "billing", None),
        (
            "429 Too Many Requests",
            refused(429, "RESOURCE_EXHAUSTED", "Slow down. Please retry in 55.57s."),
            "rate_limit",
            55.57,
        ),
        ("500 Internal Server Error", refused(500, "INTERNAL", "oops"), "server", None),
        ("503 Unavailable", refused(503, "UNAVAILABLE", "overloaded"), "overloaded", None),
        ("504 Gateway Timeout", refused(504, "DEADLINE_EXCEEDED", "late"), "timeout", None),
    ],
)
async def test_each_refusal_is_of_its_kind(
    gemini: Make, line: str, body: Any, kind: str, wait: Any
) -> None:
    async with scripted(Answer.json(body, status=line)) as server:
        failed = (await ask(gemini(server.url))).failed
    assert (failed.kind, failed.status, failed.retry_after) == (kind, int(line[:3]), wait)
    assert not failed.started


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (refused(503, "UNAVAILABLE", "overloaded"), "overloaded"),
        (refused(500, "INTERNAL", "oops"), "server"),
        (refused(429, "RESOURCE_EXHAUSTED", "slow"), "rate_limit"),
        ({"error": "of a proxy"}, "server"),
        ([refused(503, "UNAVAILABLE", "overloaded")], "overloaded"),
    ],
)
async def test_an_error_in_the_middle_ends_the_stream(gemini: Make, event: Any, kind: str) -> None:
    async with scripted(Answer.stream(TEXT, event, done=False)) as server:
        found = await ask(gemini(server.url))
    assert (found.text, found.failed.kind) == ("So far", kind)


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([], "empty_stream"),
        ([USAGE], "empty_stream"),
        ([TEXT], "network"),
        ([CALL], "network"),
        (["{broken"], "protocol"),
        ([TEXT, "{broken"], "protocol"),
        (["[" * 100_000], "protocol"),
    ],
    ids=["nothing", "counts", "text", "call", "broken", "broken later", "deep"],
)
@pytest.mark.parametrize("cut", [False, True], ids=["ends", "cut"])
async def test_a_stream_without_its_end_is_no_answer(
    gemini: Make, events: list[Any], kind: str, cut: bool
) -> None:
    async with scripted(Answer.stream(*events, done=False, cut=cut)) as server:
        found = await ask(gemini(server.url), asking(tools=(ECHO,)))
    assert found.failed.kind == ("network" if cut and kind == "empty_stream" else kind)


async def test_an_event_of_two_megabytes_is_read(gemini: Make) -> None:
    large = "x" * 2_000_000
    last = {"candidates": [{"content": {"parts": [{"text": large}]}, "finishReason": "STOP"}]}
    async with scripted(Answer.stream(last, done=False)) as server:
        assert (await ask(gemini(server.url))).done.text == large


async def test_a_server_that_stalls_is_given_up(gemini: Make) -> None:
    async with scripted(Answer.stream(TEXT, done=False, stall=True)) as server:
        found = await ask(gemini(server.url, idle_s=0.2))
    assert (found.text, found.failed.kind) == ("So far", "timeout")


async def test_closing_the_stream_closes_the_connection(gemini: Make) -> None:
    async with scripted(Answer.stream(TEXT, done=False, stall=True)) as server:
        stream = gemini(server.url).stream(asking())
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        with anyio.fail_after(2):
            await server.left.wait()


async def test_a_key_that_the_server_repeats_is_not_told(gemini: Make, key: str) -> None:
    body = refused(400, "INVALID_ARGUMENT", f"{KEY_WRONG} It was {key}")
    async with scripted(Answer.json(body, status="400 Bad Request")) as server:
        failed = (await ask(gemini(server.url))).failed
    assert key not in f"{failed.message} {failed.details}"
    assert "[redacted]" in failed.message
    last = {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": key}]}
    for event in (refused(500, "INTERNAL", key), last):
        async with scripted(Answer.stream(event, done=False)) as server:
            failed = (await ask(gemini(server.url))).failed
        assert key not in json.dumps([failed.message, str(failed.details)])


async def test_a_redirect_is_not_followed(gemini: Make) -> None:
    answer = Answer(status="307 Temporary Redirect", headers={"location": "http://127.0.0.1:9/"})
    async with scripted(answer) as server:
        failed = (await ask(gemini(server.url))).failed
    assert (failed.kind, failed.status) == ("not_found", 307)
