"""A guard for outgoing HTTP: no request reaches a private address.

Its names are imported when first used, so that a plugin can name it at no cost.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pegboard_netguard.addresses import refusal
    from pegboard_netguard.backend import GuardedBackend, GuardedTransport
    from pegboard_netguard.client import Fetched, FetchError, fetch
    from pegboard_netguard.lookup import resolve
    from pegboard_netguard.proxy import GuardProxy
    from pegboard_netguard.rules import Blocked, Rules
    from pegboard_netguard.urls import check_target, check_url

_PLACES: Final = {
    "Blocked": "rules",
    "FetchError": "client",
    "Fetched": "client",
    "GuardProxy": "proxy",
    "GuardedBackend": "backend",
    "GuardedTransport": "backend",
    "Rules": "rules",
    "check_target": "urls",
    "check_url": "urls",
    "fetch": "client",
    "refusal": "addresses",
    "resolve": "lookup",
}

__all__ = [
    "Blocked",
    "FetchError",
    "Fetched",
    "GuardProxy",
    "GuardedBackend",
    "GuardedTransport",
    "Rules",
    "check_target",
    "check_url",
    "fetch",
    "refusal",
    "resolve",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
