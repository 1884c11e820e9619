"""Names looked up once, and refused as a whole when one answer is bad."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Final

import anyio

from pegboard_netguard.addresses import parse, refusal
from pegboard_netguard.rules import Blocked, Rules
from pegboard_netguard.urls import check_target

MAX_ADDRESSES: Final = 4
"""Addresses of one name that are tried."""


async def resolve(host: str, port: int, rules: Rules) -> Sequence[str]:
    """Return the addresses to connect to: literal ones, so that nothing is looked up again.

    Args:
        host: Name or address.
        port: Port.
        rules: What may be reached.

    Raises:
        Blocked: When the name or any address that it has may not be reached.
        OSError: When there is no such name.
        TimeoutError: When looking it up takes too long.
    """
    name = check_target(host, port, rules)
    if parse(name) is not None:
        return (name,)
    with anyio.fail_after(rules.connect_s):
        answers = await anyio.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    found: list[str] = []
    for *_, target in answers:
        text = str(target[0])
        reason = None if rules.is_private(name, port) else _refused(text)
        if reason is not None:
            raise Blocked(f"blocked: {name} resolves to {text}, which {reason}")
        if text not in found:
            found.append(text)
    return found[:MAX_ADDRESSES]


def _refused(text: str) -> str | None:
    address = parse(text)
    return "is no address" if address is None else refusal(address)
