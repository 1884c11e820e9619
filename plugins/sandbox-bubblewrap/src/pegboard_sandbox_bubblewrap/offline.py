"""Whether a command has failed for want of a network."""

from __future__ import annotations

import re
from typing import Final

from pegboard import Completed

_NO_NETWORK: Final = re.compile(
    rb"could not resolve|name or service not known|temporary failure in name resolution"
    rb"|network is unreachable|no route to host|connection refused|getaddrinfo|eai_again"
    rb"|name resolution|failed to (?:lookup|connect)|unable to resolve|dial (?:tcp|udp)"
    rb"|address family not supported|proxy",
    re.IGNORECASE,
)


def seems_offline(done: Completed) -> bool:
    """Return whether a command has failed, and speaks of a network that it did not reach."""
    if done.exit_code == 0:
        return False
    streams = (done.stderr.head, done.stderr.tail, done.stdout.tail, done.stdout.head)
    return any(_NO_NETWORK.search(stream) is not None for stream in streams)
