"""Host names in the one form that they are compared in."""

from __future__ import annotations

from typing import Final

import idna

from pegboard_netguard.addresses import parse

_LOCAL: Final = ("localhost", "local", "internal", "localdomain", "home.arpa")


def canonical_host(host: str) -> str:
    """Return a host name lower-cased, in ASCII, without a trailing dot.

    Full-width letters and digits, and the dots of other scripts, become ASCII, as they do in every
    HTTP client.

    Args:
        host: A name or an address; an IPv6 address without brackets.

    Raises:
        ValueError: When it is no host name.
    """
    plain = host.rstrip(".").lower()
    if not plain:
        raise ValueError("no host")
    if parse(plain) is not None:
        return plain
    if plain.isascii():
        return plain
    try:
        return idna.encode(plain, uts46=True).decode("ascii").rstrip(".")
    except idna.IDNAError as error:
        raise ValueError(f"{host!r} is no host name") from error


def local_reason(host: str) -> str | None:
    """Return why a canonical name means something on this machine or its network, or None.

    Args:
        host: The name, as `canonical_host` returns it; no address.
    """
    if any(host == name or host.endswith("." + name) for name in _LOCAL):
        return "is a local name"
    last = host.rpartition(".")[2]
    if last.isdigit() or last.startswith("0x"):
        # the system's resolver takes 127.1, 0x7f000001 and 2130706433 for addresses
        return "is an address in an unusual form"
    if "." not in host:
        return "is a name without a domain"
    return None
