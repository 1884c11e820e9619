"""URLs, judged before anything is looked up."""

from __future__ import annotations

from typing import Final

from pegboard_netguard.addresses import parse, refusal
from pegboard_netguard.http import URL, InvalidURL
from pegboard_netguard.names import canonical_host, local_reason
from pegboard_netguard.rules import DEFAULT, Blocked, Rules

_PORTS: Final = {"http": 80, "https": 443}
_MAX_URL: Final = 8_192


def check_url(url: str, rules: Rules = DEFAULT) -> URL:
    """Return a URL that may be asked for, as it will be.

    Args:
        url: The URL.
        rules: What may be reached.

    Raises:
        Blocked: When it may not; the message says why.
    """
    if len(url) > _MAX_URL:
        raise Blocked(f"blocked: the URL is longer than {_MAX_URL} characters")
    if any(char <= " " or char in "\x7f\\" for char in url):
        raise Blocked("blocked: the URL holds a space, a control character or a backslash")
    try:
        parsed = URL(url)
    except (InvalidURL, UnicodeError) as error:
        raise Blocked(f"blocked: {url!r} is no URL: {error}") from error
    if parsed.scheme not in _PORTS:
        raise Blocked(f"blocked: the scheme {parsed.scheme or 'of the URL'!r} is not http or https")
    if parsed.userinfo:
        raise Blocked("blocked: the URL holds a user name or password")
    check_target(parsed.host, parsed.port or _PORTS[parsed.scheme], rules)
    return parsed


def check_target(host: str, port: int, rules: Rules = DEFAULT) -> str:
    """Return a host in canonical form when it may be connected to, as far as its name tells.

    Args:
        host: Name or address.
        port: Port.
        rules: What may be reached.

    Raises:
        Blocked: When it may not.
    """
    try:
        name = canonical_host(host)
    except ValueError as error:
        raise Blocked(f"blocked: {error}") from error
    if not rules.names(name):
        raise Blocked(f"blocked: {name} is not among the hosts that may be reached")
    if rules.is_private(name, port):
        return name
    if port not in rules.ports:
        allowed = ", ".join(str(number) for number in sorted(rules.ports))
        raise Blocked(f"blocked: port {port} is not allowed ({allowed})")
    address = parse(name)
    reason = local_reason(name) if address is None else refusal(address)
    if reason is not None:
        raise Blocked(f"blocked: {name} {reason}")
    return name
