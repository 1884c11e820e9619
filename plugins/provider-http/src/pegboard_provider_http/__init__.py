"""What providers that speak HTTP share.

Its names are imported when first used, so that a plugin can name it at no cost.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pegboard_provider_http.api import Event, HttpApi, Timeouts, finish, is_local
    from pegboard_provider_http.attachments import Encoded, encoded, told
    from pegboard_provider_http.echoes import Echoes

_PLACES: Final = {
    "Echoes": "echoes",
    "Encoded": "attachments",
    "Event": "api",
    "HttpApi": "api",
    "Timeouts": "api",
    "encoded": "attachments",
    "finish": "api",
    "is_local": "api",
    "told": "attachments",
}

__all__ = [
    "Echoes",
    "Encoded",
    "Event",
    "HttpApi",
    "Timeouts",
    "encoded",
    "finish",
    "is_local",
    "told",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
