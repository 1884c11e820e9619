"""The one place that imports the HTTP client, so that another one is a change of one file."""

from __future__ import annotations

from httpx import (
    URL,
    AsyncBaseTransport,
    AsyncClient,
    ConnectTimeout,
    DecodingError,
    HTTPError,
    InvalidURL,
    Limits,
    PoolTimeout,
    Response,
    Timeout,
    TimeoutException,
)

__all__ = [
    "URL",
    "AsyncBaseTransport",
    "AsyncClient",
    "ConnectTimeout",
    "DecodingError",
    "HTTPError",
    "InvalidURL",
    "Limits",
    "PoolTimeout",
    "Response",
    "Timeout",
    "TimeoutException",
]
