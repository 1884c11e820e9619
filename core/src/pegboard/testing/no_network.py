"""A wall around tests: no connection leaves this machine."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class NetworkRefused(OSError):
    """A test tried to reach another machine."""


@contextmanager
def no_network() -> Iterator[None]:
    """Refuse connections of this process to anything but this machine while the block runs.

    Programs that a test starts are not held back.
    """
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex
    resolve = socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        _check(self.family, address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        _check(self.family, address)
        return connect_ex(self, address)

    def guarded_resolve(host: Any, *rest: Any, **options: Any) -> Any:
        if not _is_local(host):
            raise _refusal(host)
        return resolve(host, *rest, **options)

    guards: list[tuple[Any, str, Any, Any]] = [
        (socket.socket, "connect", guarded_connect, connect),
        (socket.socket, "connect_ex", guarded_connect_ex, connect_ex),
        (socket, "getaddrinfo", guarded_resolve, resolve),
    ]
    for owner, name, guard, _ in guards:
        setattr(owner, name, guard)
    try:
        yield
    finally:
        for owner, name, _, original in guards:
            setattr(owner, name, original)


def _check(family: int, address: Any) -> None:
    if family in (socket.AF_INET, socket.AF_INET6) and not _is_local(address[0]):
        raise _refusal(address[0])


def _is_local(host: Any) -> bool:
    if host in (None, "", b"", "localhost", b"localhost"):
        return True
    text = host.decode() if isinstance(host, bytes) else str(host)
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _refusal(host: Any) -> NetworkRefused:
    return NetworkRefused(f"a test of the `host` fixture may not reach {host}: use a local server")
