"""When a provider says that it may be asked again."""

from __future__ import annotations

from typing import Any

import pytest

from pegboard.providers.retry_hints import retry_after

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z
RETRY_INFO = {
    "error": {
        "details": [
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure"},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36s"},
        ]
    }
}


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, None, 1.5),
        ({"retry-after": "1806"}, None, 1806.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}, None, 30.0),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, None, 0.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30"}, None, 30.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 -0000"}, None, 30.0),
        ({"retry-after": "Fri, 99 Foo 2027 08:00:30 GMT"}, None, None),
        ({}, RETRY_INFO, 36.0),
        ({}, {"error": {"message": "Quota exceeded. Please retry in 55.57s."}}, 55.57),
        ({}, {"error": {"message": "Please try again in 6m0s."}}, 360.0),
        ({}, "Please try again in 20ms", 0.02),
        ({}, {"error": {"message": "try again after 2 minutes 5 seconds"}}, 125.0),
        (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2027-01-15T08:01:00Z",
                "anthropic-ratelimit-tokens-remaining": "5000",
                "anthropic-ratelimit-tokens-reset": "2027-01-15T09:00:00Z",
            },
            None,
            60.0,
        ),
        (
            {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"},
            None,
            360.0,
        ),
        # a server that sends both: the plain header wins
        (
            {
                "retry-after": "7",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "6m0s",
            },
            None,
            7.0,
        ),
        ({"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "6m0s"}, None, None),
        ({"retry-after": "soon"}, {"error": {"message": "no idea"}}, None),
        ({"retry-after": "-5"}, None, None),
        ({"retry-after": "99999999999"}, None, None),
        ({"retry-after": "nan"}, ["odd"], None),
        ({}, {"error": {"details": "odd"}}, None),
        ({}, None, None),
    ],
)
def test_the_first_hint_in_the_stated_order_counts(
    headers: dict[str, str], body: Any, seconds: float | None
) -> None:
    found = retry_after(headers, body, now=NOW)
    assert found == pytest.approx(seconds) if seconds is not None else found is None
