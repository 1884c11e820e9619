"""A provider's HTTP interface: event streams and JSON, with failures as the host reads them."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

import anyio

from pegboard import Clock, ProviderError, SystemClock
from pegboard.providers import SseError, SseParser, failure
from pegboard_provider_http.body import BodyError, beginning, pieces, whole
from pegboard_provider_http.http import (
    URL,
    AsyncBaseTransport,
    AsyncClient,
    HTTPError,
    InvalidURL,
    Limits,
    Response,
    Timeout,
    TimeoutException,
)

MAX_ERROR: Final = 65_536
ERROR_S: Final = 10.0
"""Seconds that the body of an error may take."""
MAX_JSON: Final = 16_777_216
MAX_QUOTED: Final = 500
"""Characters of a server's own words that are repeated."""
REST_S: Final = 0.5
"""Seconds to wait for the end of a body whose answer is whole already."""
_AGENT: Final = "pegboard"
_PAGES: Final = frozenset({"application/xhtml+xml", "text/html"})
_log = logging.getLogger(__name__)
_decode: Final = json.JSONDecoder().decode
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long to wait, in seconds.

    Args:
        connect_s: For a connection.
        idle_s: For the next byte; a model may think for long before its first one.
    """

    connect_s: float = 10.0
    idle_s: float = 300.0


class Event(NamedTuple):
    """One event of a stream, its data parsed.

    Args:
        data: The parsed JSON.
        type: The event's type, or "".
    """

    data: Any
    type: str = ""


class HttpApi:
    """One address of a provider, asked with one key.

    Args:
        title: Name to show a person.
        base_url: Address that paths are below.
        headers: Sent with every request.
        secrets: Values in them that no message may hold.
        key: Name of the secret that is the key, to say how to set another one; "" = there is none.
        timeouts: How long to wait.
        clock: Time; None = the machine's.
        transport: What makes connections; None = the usual, with the proxies of the environment
            unless the address is this machine's own.

    Raises:
        ProviderError: When the address is no http URL.
    """

    def __init__(
        self,
        title: str,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        secrets: Sequence[str] = (),
        key: str = "",
        timeouts: Timeouts | None = None,
        clock: Clock | None = None,
        transport: AsyncBaseTransport | None = None,
    ) -> None:
        self.title = title
        self.base_url = _checked(title, base_url)
        self._secrets = tuple(secret for secret in secrets if secret)
        self._key = key
        self._now = (clock or SystemClock()).now
        waits = timeouts or Timeouts()
        local = is_local(self.base_url)
        if self._secrets and not local and self.base_url.lower().startswith("http:"):
            host = URL(self.base_url).host
            _log.warning("%s: the key goes to %s without encryption; use https", title, host)
        # a server may close a connection just as it is used again, which costs the request; on this
        # machine a new one costs nothing
        reused = 0 if local else 8
        self._client = AsyncClient(
            headers=_sendable(title, {"user-agent": _AGENT, **(headers or {})}),
            timeout=Timeout(waits.idle_s, connect=waits.connect_s),
            limits=Limits(max_connections=None, max_keepalive_connections=reused),
            transport=transport,
            trust_env=transport is None and not local,
            # reading all certificates takes a while, and nothing is encrypted on this machine
            verify=not (local and self.base_url.startswith("http:")),
            follow_redirects=False,
        )

    @property
    def route(self) -> str:
        """What tells this address and key from others, without telling the key."""
        text = "\0".join([self.base_url, *self._secrets])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    async def events(
        self, path: str, payload: Any, *, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[Event, None]:
        """Post a request and yield the events of its answer, their data parsed as JSON.

        `[DONE]` is no event: it ends the stream. Closing this closes the connection.

        Raises:
            ProviderError: When the request fails, at once or midway.
        """
        async with self._asked("POST", path, payload, headers) as response:
            if _kind(response) == "application/json":
                # some servers answer a stream that fails at once with plain JSON and status 200
                yield Event(self._parsed(await self._text(response)))
                return
            parser = SseParser()
            body = pieces(response)
            async for piece in body:
                for data, type, _ in parser.feed(piece):
                    if data == "[DONE]":
                        await finish(body)
                        return
                    if data:
                        yield Event(self._parsed(data), type)
            last = parser.end()
            if last is not None and last.data not in ("", "[DONE]"):
                yield Event(self._parsed(last.data), last.event)

    async def ask(self, method: str, path: str, payload: Any = None) -> Any:
        """Make a request and return its answer, parsed.

        Raises:
            ProviderError: When the request fails.
        """
        async with self._asked(method, path, payload, None) as response:
            return self._parsed(await self._text(response))

    def failed(self, body: Any, *, status: int | None = None) -> ProviderError:
        """Return the error of an event in a stream that reports a failure.

        Args:
            body: The event's data.
            status: HTTP status that it stands for, where it says one.
        """
        return self._failure(status, body)

    def nonsense(self, what: str) -> ProviderError:
        """Return the error of an answer that is not what the dialect says."""
        return ProviderError(f"{self.title} sent what is no answer: {what}.", kind="protocol")

    def unfinished(self, *, begun: bool) -> ProviderError:
        """Return the error of a stream that ended without saying so, `begun` or without a word."""
        if not begun:
            return ProviderError(f"{self.title} sent an empty answer.", kind="empty_stream")
        text = f"{self.title} broke off in the middle of its answer."
        return ProviderError(text, kind="network")

    def quoted(self, text: str) -> str:
        """Return a server's own words as they may be repeated: a short line without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "[redacted]")
        return " ".join(text.split())[:MAX_QUOTED]

    async def aclose(self) -> None:
        """Give back connections."""
        await self._client.aclose()

    @asynccontextmanager
    async def _asked(
        self, method: str, path: str, payload: Any, headers: Mapping[str, str] | None
    ) -> AsyncIterator[Response]:
        url = f"{self.base_url}/{path.lstrip('/')}"
        sent = _sendable(self.title, {"accept-encoding": "identity", **(headers or {})})
        content = None
        if payload is not None:
            sent["content-type"] = "application/json"
            content = _encoded(payload)
        answers = False
        try:
            async with self._client.stream(method, url, content=content, headers=sent) as response:
                if response.status_code != 200:
                    raise await self._refused(response)
                if _kind(response) in _PAGES:
                    raise self._page()
                answers = True
                yield response
        except TimeoutException as error:
            raise ProviderError(f"{self.title} took too long to answer.", kind="timeout") from error
        except HTTPError as error:
            raise (self._broken() if answers else self._unreached(error)) from error
        except (BodyError, SseError) as error:
            raise self.nonsense(str(error)) from error

    async def _refused(self, response: Response) -> ProviderError:
        headers = {name.lower(): value for name, value in response.headers.items()}
        if response.is_redirect:
            # credentials would go along to wherever it leads
            where = URL(response.headers.get("location", "")).host
            return ProviderError(
                f"{self.title} redirects to {where or 'another address'}.",
                kind="not_found",
                fix="put the new address into the configuration as base_url",
                status=response.status_code,
            )
        body = await beginning(response, max_bytes=MAX_ERROR, within_s=ERROR_S)
        return self._failure(response.status_code, body, headers)

    def _page(self) -> ProviderError:
        """Return the error of a web page in place of an answer: somebody else lives there."""
        return ProviderError(
            f"{self.title} answered with a web page: {self.base_url} is not its interface, or "
            "something on the way answers in its place.",
            kind="not_found",
            fix="look at base_url; many servers want /v1 at its end",
        )

    def _failure(
        self, status: int | None, body: Any, headers: Mapping[str, str] | None = None
    ) -> ProviderError:
        error = failure(
            self.title,
            status=status,
            body=body,
            headers=headers,
            now=self._now(),
            secrets=self._secrets,
        )
        if error.kind == "auth":
            error.fix = _how_to_set(self._key) if self._key else _NO_KEY
        return error

    def _broken(self) -> ProviderError:
        return ProviderError(
            f"{self.title} broke off in the middle of its answer: the connection was lost.",
            kind="network",
        )

    def _unreached(self, error: HTTPError) -> ProviderError:
        text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        for secret in self._secrets:
            text = text.replace(secret, "[redacted]")
        host = URL(self.base_url).netloc.decode("ascii", "replace")
        return ProviderError(
            f"{self.title} at {host} can't be reached{self._by_proxy()}: {text}.",
            kind="network",
            fix=f"look whether something answers at {self.base_url}",
        )

    def _by_proxy(self) -> str:
        """Say that a proxy of the environment is on the way, whose fault it may be."""
        from urllib.request import getproxies, proxy_bypass  # the client has loaded it already

        url = URL(self.base_url)
        proxies = getproxies()
        used = (proxies.get(url.scheme) or proxies.get("all")) and not proxy_bypass(url.host)
        return " through the proxy of the environment" if used and not is_local(str(url)) else ""

    async def _text(self, response: Response) -> str:
        return (await whole(response, max_bytes=MAX_JSON)).decode("utf-8-sig", "replace")

    def _parsed(self, text: str) -> Any:
        try:
            return _decode(text)
        except (ValueError, RecursionError) as error:
            raise self.nonsense("a part of it is no JSON") from error


async def finish(rest: AsyncIterator[T], take: Callable[[T], object] | None = None) -> None:
    """Read what follows an answer that is whole already, so that the connection can be used again.

    It is not waited for long, and what goes wrong in it counts no more.

    Args:
        rest: The events that are left.
        take: Called with each of them, where they may tell something still.
    """
    with anyio.move_on_after(REST_S), suppress(ProviderError, HTTPError, BodyError):
        async for item in rest:
            if take is not None:
                take(item)


def _kind(response: Response) -> str:
    """Return the content type without its parameters."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def is_local(url: str) -> bool:
    """Tell whether an address is this machine's own; one that is none is not."""
    try:
        host = URL(url).host.strip("[]").lower()
        if host == "localhost" or host.endswith(".localhost"):
            return True
        return ipaddress.ip_address(host).is_loopback
    except (InvalidURL, ValueError):
        return False


def _checked(title: str, base_url: str) -> str:
    """Return an address without a slash at its end.

    Raises:
        ProviderError: When it is none; one that holds a password is not told.
    """
    try:
        url = URL(base_url)
        good = url.scheme in ("http", "https") and bool(url.host)
        named = bool(url.userinfo)
    except (InvalidURL, UnicodeError, ValueError):
        good, named = False, False
    if named:
        raise ProviderError(
            f"{title}: its base_url holds a name or a password, which is no place for one.",
            kind="bad_request",
            fix='base_url = "https://HOST/...", and the key as a secret: pegboard secret set NAME',
        )
    if not good:
        shown = repr(base_url) if "@" not in base_url else "its base_url"
        raise ProviderError(
            f"{title}: {shown} is no http address.",
            kind="bad_request",
            fix='base_url = "https://..."',
        )
    return base_url.rstrip("/")


def _sendable(title: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers that can be sent; a key with a line end in it is a common slip.

    One that comes again, in whatever case, takes the place of the one before.

    Raises:
        ProviderError: When one can't; its value is not told.
    """
    made = {name.lower(): value.strip() for name, value in headers.items()}
    for name, value in made.items():
        if not value.isascii() or not value.isprintable():
            raise ProviderError(
                f"{title}: the header {name} holds a character that can't be sent.",
                kind="auth" if name in _KEYED else "bad_request",
                fix="set the key again: pegboard secret set NAME",
            )
    return made


_KEYED: Final = frozenset({"authorization", "x-api-key", "x-goog-api-key", "api-key"})


_NO_KEY: Final = 'name its key: api_key = "NAME" in the settings of this provider'


def _how_to_set(key: str) -> str:
    variable = key.removeprefix("env:")
    return f"export {variable}=..." if variable != key else f"pegboard secret set {key}"


def _encoded(payload: Any) -> bytes:
    """Return JSON as UTF-8; half a character becomes what it can be sent as."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace")
