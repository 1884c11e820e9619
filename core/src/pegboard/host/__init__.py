"""Composition: the only room that knows all the others.

The public names are imported when they are first used: a command that acts through the resident
host needs none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pegboard.host.access import CommandHost
    from pegboard.host.host import Host
    from pegboard.host.opening import open_host
    from pegboard.host.options import HostOptions

_WHERE: Final = {
    "CommandHost": "access",
    "Host": "host",
    "HostOptions": "options",
    "open_host": "opening",
}

__all__ = ["CommandHost", "Host", "HostOptions", "open_host"]


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'pegboard.host' has no attribute {name!r}")
    value = getattr(import_module(f"pegboard.host.{module}"), name)
    globals()[name] = value
    return value
