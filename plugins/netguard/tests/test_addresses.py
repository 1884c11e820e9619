"""Which addresses may be connected to."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pegboard_netguard import Rules, refusal
from pegboard_netguard.names import canonical_host

PRIVATE = [IPv4Network(text) for text in ("10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16")]


@pytest.mark.parametrize("text", ["1.1.1.1", "93.184.216.34", "2606:2800:220:1::1", "2a00:1450::1"])
def test_public_addresses_may_be_reached(text: str) -> None:
    assert refusal(ip_address(text)) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("127.0.0.1", "this machine"),
        ("169.254.169.254", "link-local"),
        ("168.63.129.16", "cloud"),
        ("::1", "leads to 0.0.0.1"),
        ("::ffff:8.8.8.8", "IPv4 address in IPv6 form"),
        ("64:ff9b::a00:1", "leads to 10.0.0.1"),
        ("2002:7f00:1::", "leads to 127.0.0.1"),
        ("fe80::1%lo", "network interface"),
        ("4000::1", "not a public address"),
    ],
)
def test_a_refusal_says_what_the_address_is(text: str, reason: str) -> None:
    assert reason in str(refusal(ip_address(text)))


def test_a_translated_public_address_may_be_reached() -> None:
    assert refusal(ip_address("64:ff9b::5db8:d822")) is None


@given(st.sampled_from(PRIVATE), st.integers(0, 2**24 - 1))
def test_no_form_of_a_private_address_may_be_reached(network: IPv4Network, offset: int) -> None:
    inner = IPv4Address(int(network[0]) + offset % network.num_addresses)
    number = int(inner)
    forms = [
        inner,
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address(number),
        IPv6Address((0xFFFF << 48) | number),
        IPv6Address((0x64FF9B << 96) | number),
        IPv6Address((0x2002 << 112) | (number << 80)),
        IPv6Address((0x20010000 << 96) | (0xFFFFFFFF ^ number)),
    ]
    assert all(refusal(form) is not None for form in forms)


@given(st.text(max_size=40))
def test_a_name_has_one_canonical_form(text: str) -> None:
    try:
        once = canonical_host(text)
    except ValueError:
        return
    assert once.isascii() or not once.isprintable()
    assert canonical_host(once) == once


def test_a_wildcard_is_for_names_below_it_and_not_for_itself() -> None:
    rules = Rules(hosts=frozenset({"*.Example.org", "api.test."}))
    assert rules.names("a.example.org")
    assert rules.names("a.b.example.org")
    assert rules.names("api.test")
    assert not rules.names("example.org")
    assert not rules.names("evilexample.org")
    assert not rules.names("x.api.test")


def test_a_pair_without_a_port_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="host:port"):
        Rules(private=frozenset({"wiki.lan"}))
