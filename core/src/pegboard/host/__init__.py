"""Composition: the only room that knows all the others."""

from pegboard.host.host import Host
from pegboard.host.opening import open_host
from pegboard.host.options import HostOptions

__all__ = ["Host", "HostOptions", "open_host"]
