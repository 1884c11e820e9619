"""What a guarded request may do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pegboard_netguard.names import canonical_host

DEFAULT_PORTS: Final = frozenset({80, 443})


class Blocked(Exception):
    """A request was refused before it was made; the message says which rule refused it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What may be reached, and how much of it.

    Args:
        ports: Ports that may be connected to.
        hosts: Names that may be reached, `*.example.org` for those below one; None = every name.
        private: `host:port` pairs of the operator's own network that may be reached all the same,
            given by name or address.
        max_redirects: Redirects followed; each hop is judged like the first URL.
        downgrade: True to follow a redirect from https to http.
        connect_s: Seconds to look a name up and connect.
        read_s: Seconds without a byte.
        total_s: Seconds for all of it.
        max_bytes: Bytes of a decoded body that are kept.
    """

    ports: frozenset[int] = DEFAULT_PORTS
    hosts: frozenset[str] | None = None
    private: frozenset[str] = frozenset()
    max_redirects: int = 5
    downgrade: bool = False
    connect_s: float = 10.0
    read_s: float = 15.0
    total_s: float = 30.0
    max_bytes: int = 5_242_880

    def __post_init__(self) -> None:
        if self.hosts is not None:
            object.__setattr__(self, "hosts", frozenset(_patterns(self.hosts)))
        object.__setattr__(self, "private", frozenset(map(_pair, self.private)))

    def names(self, host: str) -> bool:
        """Tell whether a name is one of those that may be reached.

        Args:
            host: The name, as `canonical_host` returns it.
        """
        if self.hosts is None or host in self.hosts:
            return True
        labels = host.split(".")
        return any("*." + ".".join(labels[n:]) in self.hosts for n in range(1, len(labels)))

    def is_private(self, host: str, port: int) -> bool:
        """Tell whether the operator has opened this host and port of their own network."""
        return f"{host}:{port}" in self.private


def _patterns(hosts: Iterable[str]) -> Iterable[str]:
    for host in hosts:
        below, name = ("*.", host[2:]) if host.startswith("*.") else ("", host)
        yield below + canonical_host(name)


def _pair(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"{text!r} is no host:port")
    return f"{canonical_host(host.strip('[]'))}:{int(port)}"


DEFAULT: Final = Rules()
"""The public web: http and https on their own ports, within modest limits."""
