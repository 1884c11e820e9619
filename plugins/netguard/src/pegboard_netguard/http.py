"""The one place that imports the HTTP client, so that another one is a change of one file."""

from __future__ import annotations

from httpcore import (
    AnyIOBackend,
    AsyncConnectionPool,
    AsyncNetworkBackend,
    AsyncNetworkStream,
    ConnectError,
    ConnectTimeout,
)
from httpx import (
    URL,
    AsyncBaseTransport,
    AsyncClient,
    AsyncHTTPTransport,
    HTTPError,
    InvalidURL,
    Response,
    Timeout,
    TimeoutException,
    create_ssl_context,
)

__all__ = [
    "URL",
    "AnyIOBackend",
    "AsyncBaseTransport",
    "AsyncClient",
    "AsyncConnectionPool",
    "AsyncHTTPTransport",
    "AsyncNetworkBackend",
    "AsyncNetworkStream",
    "ConnectError",
    "ConnectTimeout",
    "HTTPError",
    "InvalidURL",
    "Response",
    "Timeout",
    "TimeoutException",
    "create_ssl_context",
]
