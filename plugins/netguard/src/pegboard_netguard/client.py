"""One guarded request: redirects followed by hand, the body bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import anyio

from pegboard_netguard.backend import GuardedTransport
from pegboard_netguard.body import ACCEPTED, Body, BodyError
from pegboard_netguard.http import (
    URL,
    AsyncBaseTransport,
    AsyncClient,
    HTTPError,
    InvalidURL,
    Response,
    Timeout,
    TimeoutException,
)
from pegboard_netguard.rules import DEFAULT, Blocked, Rules
from pegboard_netguard.urls import check_url

_SECRET: Final = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key"})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


class FetchError(Exception):
    """A request that was allowed did not succeed; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a server answered.

    Args:
        url: Where the answer came from, after redirects.
        status: HTTP status.
        headers: Response headers, names lower-cased.
        content: Decoded body, as far as it was kept.
        truncated: True when the body was longer.
        redirects: URLs passed on the way.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    content: bytes
    truncated: bool = False
    redirects: tuple[str, ...] = field(default=())


async def fetch(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    content: bytes = b"",
    rules: Rules = DEFAULT,
    transport: AsyncBaseTransport | None = None,
) -> Fetched:
    """Ask for a URL and return the answer, whatever its status.

    Args:
        url: The URL.
        method: HTTP method; a redirect other than 307 and 308 goes on as GET.
        headers: Request headers; those with credentials stay with the first origin.
        content: Request body.
        rules: What may be reached, and how much of it.
        transport: What makes connections; None = a guarded one, closed at the end.

    Raises:
        Blocked: When the URL, or one that it redirects to, may not be reached.
        FetchError: When the server can't be reached, takes too long or answers nonsense.
    """
    asked = check_url(url, rules)
    client = AsyncClient(
        transport=transport or GuardedTransport(rules),
        trust_env=False,
        follow_redirects=False,
        timeout=Timeout(rules.read_s, connect=rules.connect_s),
    )
    try:
        with anyio.fail_after(rules.total_s):
            async with client:
                return await _followed(client, asked, method, dict(headers or {}), content, rules)
    except TimeoutException as error:
        raise FetchError(f"{asked.host} did not answer in time") from error
    except TimeoutError as error:
        raise FetchError(f"timed out after {rules.total_s:g} s") from error
    except (HTTPError, BodyError, InvalidURL) as error:
        raise FetchError(f"{asked.host}: {error or type(error).__name__}") from error


async def _followed(
    client: AsyncClient,
    url: URL,
    method: str,
    headers: dict[str, str],
    content: bytes,
    rules: Rules,
) -> Fetched:
    passed: list[str] = []
    headers = {**headers, "accept-encoding": ACCEPTED}
    while True:
        async with client.stream(method, url, headers=headers, content=content) as response:
            location = response.headers.get("location", "")
            if response.status_code not in _REDIRECTS or not location:
                return await _read(response, rules, tuple(passed))
        if len(passed) == rules.max_redirects:
            raise Blocked(f"blocked: more than {rules.max_redirects} redirects")
        target = _target(url, location, rules)
        passed.append(str(url))
        if _origin(target) != _origin(url):
            headers = {name: text for name, text in headers.items() if name.lower() not in _SECRET}
        if response.status_code not in (307, 308) and method != "HEAD":
            method, content = "GET", b""
        url = target


def _target(url: URL, location: str, rules: Rules) -> URL:
    try:
        # joined as text is, then judged like a URL that somebody gave
        target = check_url(str(url.join(location)), rules)
    except InvalidURL as error:
        raise Blocked(f"blocked: redirect to {location!r}: {error}") from error
    except Blocked as error:
        raise Blocked(f"blocked: redirect to {location!r}: {error}") from error
    if url.scheme == "https" and target.scheme == "http" and not rules.downgrade:
        raise Blocked(f"blocked: redirect from https to {str(target)!r}")
    return target


def _origin(url: URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


async def _read(response: Response, rules: Rules, passed: tuple[str, ...]) -> Fetched:
    body = Body(response.headers.get("content-encoding", ""), rules.max_bytes)
    async for piece in response.aiter_raw():
        if not body.feed(piece):
            break
    return Fetched(
        url=str(response.url),
        status=response.status_code,
        headers={name.lower(): text for name, text in response.headers.items()},
        content=body.content,
        truncated=body.truncated,
        redirects=passed,
    )
