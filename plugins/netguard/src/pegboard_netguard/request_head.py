"""The head of a request to a proxy, parsed strictly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

_LINE: Final = re.compile(r"([A-Z]{1,20}) (\S+) HTTP/1\.[01]")
_HEADER: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")
_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:@/\[\]]+):(\d{1,5})")
_DROPPED: Final = frozenset(
    {
        "connection",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "upgrade",
    }
)
"""What is between client and proxy only, and the host, which is written anew from the target."""


class BadRequest(Exception):
    """A request is malformed, or of a form that the proxy does not pass on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHead:
    """What a client asks a proxy for.

    Args:
        method: HTTP method; CONNECT asks for a tunnel.
        host: Host to reach, without brackets.
        port: Its port.
        forward: Head to send to the host; empty for a tunnel.
        body: Bytes of the body that follow the head.
    """

    method: str
    host: str
    port: int
    forward: bytes = b""
    body: int = 0

    @property
    def tunnel(self) -> bool:
        """True when the client wants a connection and not one request passed on."""
        return self.method == "CONNECT"


def parse_head(head: bytes) -> RequestHead:
    """Return what a client asks for.

    Args:
        head: The request up to and with its empty line.

    Raises:
        BadRequest: When it can't be passed on as it is.
    """
    lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    line = _LINE.fullmatch(lines[0])
    if line is None:
        raise BadRequest("the request line is malformed")
    method, target = line[1], line[2]
    if method == "CONNECT":
        host, port = _authority(target)
        return RequestHead(method=method, host=host, port=port)
    return _passed_on(method, target, lines[1:])


def _passed_on(method: str, target: str, lines: list[str]) -> RequestHead:
    try:
        url = urlsplit(target)
        host, port = url.hostname, url.port or 80
    except ValueError as error:
        raise BadRequest(f"the target is malformed: {error}") from error
    if url.scheme != "http" or not host or "@" in url.netloc:
        raise BadRequest("the target is no absolute http URL")
    headers = [_header(line) for line in lines]
    lengths = {value for name, value in headers if name.lower() == "content-length"}
    if any(name.lower() == "transfer-encoding" for name, _ in headers):
        raise BadRequest("a body without a length can't be passed on")
    if len(lengths) > 1 or not all(length.isdigit() for length in lengths):
        raise BadRequest("the length of the body is not clear")
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    kept = [f"{name}: {value}" for name, value in headers if name.lower() not in _DROPPED]
    rewritten = [f"{method} {path} HTTP/1.1", f"Host: {url.netloc}", *kept, "Connection: close"]
    return RequestHead(
        method=method,
        host=host,
        port=port,
        forward="\r\n".join([*rewritten, "", ""]).encode("latin-1"),
        body=int(lengths.pop()) if lengths else 0,
    )


def _header(line: str) -> tuple[str, str]:
    header = _HEADER.fullmatch(line)
    if header is None:
        raise BadRequest("a header is malformed")
    return header[1], header[2]


def _authority(text: str) -> tuple[str, int]:
    match = _AUTHORITY.fullmatch(text)
    if match is None or not 0 < int(match[2]) < 65_536:
        raise BadRequest("CONNECT needs host:port")
    return match[1].strip("[]"), int(match[2])
