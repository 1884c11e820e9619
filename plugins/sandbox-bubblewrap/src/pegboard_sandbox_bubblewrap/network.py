"""The only way out of a sandbox that has a network of its own: a proxy that the host holds.

Programs inside speak to a port of their own loopback. The socket behind it was made inside by a
broker, a process of one thread that can enter other namespaces; the guard that answers it runs
here.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from pegboard import SandboxError

if TYPE_CHECKING:
    from pegboard_netguard import Rules

PORT: Final = 3128
PROXY_URL: Final = f"http://127.0.0.1:{PORT}"
MAX_REFUSALS: Final = 10
"""Refused hosts of one command that are told."""
_BROKER: Final = Path(__file__).with_name("broker_program.py")
_ANSWER_S: Final = 10.0
_LONGEST: Final = 1024


class Broker:
    """Makes listening sockets inside the network of a sandbox; its process starts when needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._lock = anyio.Lock()

    async def listen(self, pid: int) -> socket.socket:
        """Return a socket that listens in the network of a process.

        Args:
            pid: A process of the sandbox.

        Raises:
            SandboxError: When the network can't be entered.
        """
        async with self._lock:
            if self._process is None or self._process.poll() is not None:
                await self._end()
                self._start()
            try:
                said, descriptors = await self._asked(pid)
            except BaseException:
                # its answer would be taken for that of the next question
                await self.aclose()
                raise
            if descriptors:
                return _nonblocking(descriptors[0])
            raise _failed(said or "its broker ended")

    async def _asked(self, pid: int) -> tuple[str, list[int]]:
        assert self._socket is not None
        self._socket.send(f"{pid} {PORT}".encode())
        with anyio.move_on_after(_ANSWER_S):
            await anyio.wait_readable(self._socket)
            said, descriptors, _, _ = socket.recv_fds(self._socket, _LONGEST, 1)
            return said.decode("utf-8", "replace"), descriptors
        raise _failed("its broker does not answer")

    async def aclose(self) -> None:
        """End the broker."""
        with anyio.CancelScope(shield=True):
            await self._end()

    def _start(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-ISE", str(_BROKER)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                start_new_session=True,
            )
        self._socket.setblocking(False)

    async def _end(self) -> None:
        process, ours = self._process, self._socket
        self._process = self._socket = None
        if ours is not None:
            ours.close()
        if process is not None:
            process.kill()
            await to_thread.run_sync(process.wait)


class Gate:
    """The guard of one command.

    Args:
        rules: What may be reached.
        broker: Makes the socket inside.
    """

    def __init__(self, rules: Rules, broker: Broker) -> None:
        self._rules = rules
        self._broker = broker
        self.refused: dict[str, None] = {}

    async def listen(self, pid: int) -> socket.socket:
        """Return the socket that the programs inside speak to."""
        return await self._broker.listen(pid)

    async def serve(self, listener: socket.socket) -> None:
        """Answer them until cancelled."""
        from pegboard_netguard import GuardProxy

        await GuardProxy(self._rules, refused=self._note).serve(listener)

    def _note(self, reason: str) -> None:
        if len(self.refused) < MAX_REFUSALS:
            self.refused[reason] = None


def _nonblocking(descriptor: int) -> socket.socket:
    os.set_inheritable(descriptor, False)
    made = socket.socket(fileno=descriptor)
    made.setblocking(False)
    return made


def _failed(why: str) -> SandboxError:
    return SandboxError(
        f"the network of the sandbox can't be set up: {why}",
        fix="pegboard config set sandboxes.bubblewrap.mode strict",
    )
