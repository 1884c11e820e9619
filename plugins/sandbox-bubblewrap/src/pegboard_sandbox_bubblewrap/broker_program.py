"""Run as a program of its own: makes listening sockets inside the network of other processes.

It is asked `PID PORT` on its standard input, a socket, and answers with the descriptor, or with why
not. A namespace of users can be entered only by a process of one thread, which a host is not.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import sys

_OWNING_USERS = 0xB701  # ioctl: the namespace of users that a namespace belongs to
_USERS, _NETWORK = 0x10000000, 0x40000000
_WAITING = 128
_LONGEST = 100


def main() -> int:
    """Answer until nobody can ask any more."""
    asked = socket.socket(fileno=0)
    while question := asked.recv(_LONGEST):
        pid, port = map(int, question.split())
        child = os.fork()
        if child == 0:
            _answer(asked, pid, port)
            os._exit(0)
        os.waitpid(child, 0)
    return 0


def _answer(asked: socket.socket, pid: int, port: int) -> None:
    try:
        network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        # not the process's own users: bwrap has put it into a second namespace of these by now
        users = fcntl.ioctl(network, _OWNING_USERS)
        own = os.stat("/proc/self/ns/user")  # noqa: PTH116
        if os.fstat(users).st_ino != own.st_ino:
            _enter(users, _USERS)
        _enter(network, _NETWORK)
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(_WAITING)
        socket.send_fds(asked, [b"ok"], [listener.fileno()])
    except OSError as error:
        asked.send(str(error).encode())


def _enter(namespace: int, kind: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, kind) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


if __name__ == "__main__":
    sys.exit(main())
