"""Which folders may never be granted as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pegboard.contracts.sandbox import Grip
from pegboard.sandboxes.paths import Parts, canon_parts, is_below, split

_NEVER: Final = ("/dev", "/proc", "/sys", "/run/secrets")
"""No folder here or below is files: what looks like one reaches devices and processes."""
_SYSTEM: Final = (
    *("/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot"),
    *("/private/etc", "/System", "/Library"),
)
"""Not themselves; folders below them only to be read."""
_WHOLE: Final = (
    *("/", "/home", "/root", "/run", "/var", "/opt", "/Users"),
    *("/Volumes", "/private", "/private/var", "/Applications"),
)
"""Not themselves; folders below them may be granted."""
_WRITABLE_BELOW: Final = ("/usr/local/src", "/usr/src")


def unsafe_root(parts: Parts, mode: Grip, *, home: Parts, protected: Iterable[Parts]) -> str | None:
    """Return why a folder can't be granted, or None when it can.

    Args:
        parts: The folder, with every link resolved.
        mode: What is asked for.
        home: The person's home folder, with every link resolved.
        protected: Places that no grant opens, with every link resolved. A folder that contains one
            may be granted: the place inside stays closed.
    """
    folded = canon_parts(parts)
    if folded == canon_parts(home):
        return "it is your home directory"
    if is_below(canon_parts(home), folded):
        return "it contains your home directory"
    if _any_at(folded, _WHOLE):
        return "it is a root of the system"
    if _any_above(folded, _NEVER):
        return "it holds devices and processes, not files"
    reason = _system_reason(folded, mode)
    if reason:
        return reason
    if any(is_below(folded, canon_parts(place)) for place in protected):
        return "it belongs to Pegboard itself"
    return None


def _system_reason(folded: Parts, mode: Grip) -> str | None:
    if _any_at(folded, _SYSTEM):
        return "it is a folder of the operating system"
    writable = any(is_below(folded, split(path)) for path in _WRITABLE_BELOW)
    if mode == "rw" and _any_above(folded, _SYSTEM) and not writable:
        return "it belongs to the operating system, and can be granted only to be read"
    return None


def _any_at(folded: Parts, paths: Iterable[str]) -> bool:
    return any(folded == canon_parts(split(path)) for path in paths)


def _any_above(folded: Parts, paths: Iterable[str]) -> bool:
    return any(is_below(folded, canon_parts(split(path))) for path in paths)
