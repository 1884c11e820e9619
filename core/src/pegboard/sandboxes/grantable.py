"""What may be granted because an agent asks for it: less than what a person may write down."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pegboard.contracts.sandbox import Grip
from pegboard.sandboxes.paths import canon_parts, split
from pegboard.sandboxes.protected import CONTROL, SECRETS, Protection
from pegboard.sandboxes.roots import unsafe_root

_HOMES: Final = (("home",), ("users",))
_SECRETS: Final = frozenset(name for name in SECRETS if "/" not in name)
"""Names that hold secrets in anybody's home."""


def refused_grant(
    path: Path, mode: Grip, *, protected: Iterable[Path] = (), home: Path | None = None
) -> str | None:
    """Return why a place can't be granted at an agent's request, or None when it can.

    What holds secrets, and what decides which programs run, a person must name themselves.

    Args:
        path: The place; links are resolved.
        mode: What is asked for.
        protected: Places that no grant opens.
        home: The person's home folder; None = as the system says.
    """
    house = Path.home() if home is None else home
    own = [split(os.path.realpath(place)) for place in protected]
    parts = split(os.path.realpath(path))
    reason = unsafe_root(parts, mode, home=split(os.path.realpath(house)), protected=own)
    if reason is not None:
        return reason
    folded = canon_parts(parts)
    if folded[:-1] in _HOMES:
        return "it is somebody's home directory"
    closed = Protection.of((), house).closed(parts, (), write=False)
    if closed is not None or not _SECRETS.isdisjoint(folded):
        return "it holds secrets"
    if mode == "rw" and not CONTROL.isdisjoint(folded):
        return "it decides what programs run"
    return None
