"""Which addresses may be connected to: only those of the public internet.

The table is our own, after the IANA special-purpose registries: what Python calls global has
changed between patch releases, and some public addresses reach into a cloud's own network.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Address = IPv4Address | IPv6Address
_Network = IPv4Network | IPv6Network

_UNICAST6: Final = IPv6Network("2000::/3")
_CLOSED: Final[tuple[tuple[_Network, str], ...]] = tuple(
    (ip_network(network), reason)
    for network, reason in (
        ("0.0.0.0/8", "means this host"),
        ("10.0.0.0/8", "is private"),
        ("100.64.0.0/10", "is shared by carriers"),
        ("127.0.0.0/8", "is this machine"),
        ("169.254.0.0/16", "is link-local, where clouds keep credentials"),
        ("168.63.129.16/32", "is a cloud's own service"),
        ("172.16.0.0/12", "is private"),
        ("192.0.0.0/24", "is reserved"),
        ("192.0.2.0/24", "is for documentation"),
        ("192.88.99.0/24", "is a retired relay"),
        ("192.168.0.0/16", "is private"),
        ("198.18.0.0/15", "is for benchmarks"),
        ("198.51.100.0/24", "is for documentation"),
        ("203.0.113.0/24", "is for documentation"),
        ("224.0.0.0/4", "is multicast"),
        ("240.0.0.0/4", "is reserved"),
        ("::/96", "is reserved"),
        ("::ffff:0:0:0/96", "is a translation prefix"),
        ("64:ff9b:1::/48", "is a local translation prefix"),
        ("100::/64", "is discarded"),
        ("2001::/23", "is reserved"),
        ("2001:db8::/32", "is for documentation"),
        ("2620:4f:8000::/48", "is a sink"),
        ("3fff::/20", "is for documentation"),
        ("5f00::/16", "is for segment routing"),
        ("fc00::/7", "is private"),
        ("fe80::/10", "is link-local"),
        ("fec0::/10", "is private"),
        ("ff00::/8", "is multicast"),
    )
)
_LAST_FOUR_BYTES: Final = (
    IPv6Network("64:ff9b::/96"),
    IPv6Network("::/96"),
    IPv6Network("::ffff:0:0:0/96"),
)


def refusal(address: Address) -> str | None:
    """Return why an address may not be connected to, or None when it may.

    Args:
        address: The address, as it will be connected to.
    """
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return "is bound to one network interface"
        if address.ipv4_mapped is not None:
            return "is an IPv4 address in IPv6 form"
        carried = tuple(_carried(address))
        for inner in carried:
            reason = refusal(inner)
            if reason is not None:
                return f"leads to {inner}, which {reason}"
        if carried:
            # a translated or relayed public address; the prefixes themselves are not in 2000::/3
            return None if address in _LAST_FOUR_BYTES[0] or address.sixtofour else "is reserved"
        if address not in _UNICAST6 and not _closed(address):
            return "is not a public address"
    return _closed(address)


def parse(text: str) -> Address | None:
    """Return the address that `text` is in its canonical form, or None when it is none."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def _closed(address: Address) -> str | None:
    for network, reason in _CLOSED:
        if address.version == network.version and address in network:
            return reason
    return None


def _carried(address: IPv6Address) -> Iterator[IPv4Address]:
    """Yield every IPv4 address that packets to an IPv6 address can be delivered to."""
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if any(address in network for network in _LAST_FOUR_BYTES):
        yield IPv4Address(int(address) & 0xFFFF_FFFF)
