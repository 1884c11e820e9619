"""What a failed request means."""

from __future__ import annotations

from typing import Any

import pytest

from pegboard.providers.failures import failure

NOW = 1_800_000_000.0


def kind(status: int | None, body: Any, **headers: str) -> str:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return failure("Test", status=status, body=body, headers=named, now=NOW).kind


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, {"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}, "auth"),
        (403, {"error": {"status": "PERMISSION_DENIED"}}, "permission"),
        (404, {"error": {"code": "model_not_found"}}, "not_found"),
        (402, "", "billing"),
        (429, {"error": {"code": "insufficient_quota"}}, "billing"),
        (429, {"error": {"message": "You exceeded your current quota"}}, "billing"),
        (400, {"error": {"message": "Your credit balance is too low"}}, "billing"),
        (429, {"error": {"message": "Rate limit reached"}}, "rate_limit"),
        (
            429,
            {
                "error": {
                    "message": "Quota exceeded: GenerateRequestsPerDayPerProject",
                    "details": [{"retryDelay": "36s"}],
                }
            },
            "rate_limit",
        ),
        (
            429,
            {"error": {"message": "quota PerDay", "details": [{"retryDelay": "36000s"}]}},
            "billing",
        ),
        # "too many tokens per minute" is a limit of rate, and not a conversation that is too long
        (429, {"error": {"message": "Too many tokens, context window 5 per minute"}}, "rate_limit"),
        (
            400,
            {"error": {"message": "This model's maximum context length is 4096 tokens"}},
            "context_overflow",
        ),
        (400, {"error": {"message": "prompt is too long: 210000 tokens"}}, "context_overflow"),
        (
            400,
            {"error": {"message": "input length and `max_tokens` exceed context limit: 9 + 9 > 8"}},
            "context_overflow",
        ),
        (400, {"error": {"message": "API key not valid. Please pass a valid API key."}}, "auth"),
        (
            400,
            {
                "error": {
                    "message": "request (6138 tokens) exceeds the available context size "
                    "(4096 tokens)",
                    "type": "exceed_context_size_error",
                }
            },
            "context_overflow",
        ),
        (413, {"type": "error", "error": {"type": "request_too_large"}}, "context_overflow"),
        (529, {"type": "error", "error": {"type": "overloaded_error"}}, "overloaded"),
        (None, {"type": "error", "error": {"type": "overloaded_error"}}, "overloaded"),
        (503, {"error": {"type": "unavailable_error", "message": "Loading model"}}, "overloaded"),
        (500, "<html>oops</html>", "server"),
        (502, "", "server"),
        (504, "", "timeout"),
        (400, {"error": {"message": "Unknown field"}}, "bad_request"),
        (422, [{"error": {"message": "odd"}}], "bad_request"),
        (None, {"error": "odd"}, "server"),
        (None, {"error": {"code": "invalid_prompt"}}, "bad_request"),
        (503, {"error": {"message": "busy", "type": "server_error"}}, "overloaded"),
        # the most exact of an error's codes counts
        (404, {"error": {"code": "model_not_found", "type": "api_error"}}, "not_found"),
        (400, {"error": {"type": "not_found_error", "status": "INTERNAL"}}, "not_found"),
        (418, None, "bad_request"),
    ],
)
def test_a_failure_has_the_kind_that_decides_what_the_host_does(
    status: int | None, body: Any, expected: str
) -> None:
    assert kind(status, body) == expected


def test_a_key_that_a_server_echoes_is_never_told() -> None:
    error = failure(
        "Test",
        status=401,
        body='{"error": {"message": "Incorrect API key provided: sk-very-secret."}}',
        now=NOW,
        secrets=["sk-very-secret"],
    )
    assert "sk-very-secret" not in str(error)
    assert "[redacted]" in error.message


def test_a_limit_tells_when_it_ends() -> None:
    error = failure("Test", status=429, body={}, headers={"retry-after": "1806"}, now=NOW)
    assert (error.retry_after, error.reset_at) == (1806.0, NOW + 1806.0)


def test_an_error_in_a_list_is_read_like_any_other() -> None:
    error = {"message": "Slow down", "details": [{"retryDelay": "36s"}]}
    found = failure("Test", status=429, body=[{"error": error}], now=NOW)
    assert (found.kind, found.retry_after) == ("rate_limit", 36.0)
    assert "Slow down" in found.message


def test_a_long_page_is_told_in_one_short_line() -> None:
    error = failure("Test", status=500, body="<p>\n" + "x" * 100_000, now=NOW)
    assert len(error.message) < 600
    assert "\n" not in error.message
