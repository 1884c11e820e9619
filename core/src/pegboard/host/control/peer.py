"""Who is at the other end of a Unix socket, as the kernel knows it."""

from __future__ import annotations

import os
import socket
import struct
import sys
from contextlib import suppress
from typing import Final

_CREDENTIALS: Final = struct.Struct("3i")
"""Linux: process, user and group."""
_LOCAL_PEERCRED: Final = 1
_XUCRED: Final = struct.Struct("=II")
"""macOS: the first two fields of `struct xucred`, its version and the user."""
_XUCRED_BYTES: Final = 76
_NOBODY: Final = -1


def peer_uid(connection: socket.socket) -> int | None:
    """Return the user id of the process at the other end; None where systems do not say."""
    if hasattr(socket, "SO_PEERCRED"):
        with suppress(OSError):
            given = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            return int(_CREDENTIALS.unpack(given)[1])
        return _NOBODY
    if sys.platform == "darwin":
        with suppress(OSError, struct.error):
            given = connection.getsockopt(0, _LOCAL_PEERCRED, _XUCRED_BYTES)
            return int(_XUCRED.unpack_from(given)[1])
    return None


def is_ours(connection: socket.socket) -> bool:
    """Tell whether the process at the other end is of this user.

    Where the system does not say who it is, the permissions of socket and folder have decided that.
    """
    uid = peer_uid(connection)
    return uid is None or uid == os.geteuid()
