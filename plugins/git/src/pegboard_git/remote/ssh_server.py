"""A server over ssh: the host's own ssh, with the keys and the known hosts of its user."""

from __future__ import annotations

import os
import shlex
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import Process

from pegboard import ToolFailure
from pegboard_git.remote.pkt_line import FLUSH, ProtocolError, read_length
from pegboard_git.remote.remote_url import RemoteUrl
from pegboard_git.remote.server import too_large, unreachable

if TYPE_CHECKING:
    from pegboard_git.config import GitSettings

_OPTIONS: Final = (
    *("BatchMode=yes", "ClearAllForwardings=yes", "ForwardAgent=no", "PermitLocalCommand=no"),
    *("RemoteCommand=none", "ConnectTimeout=15"),
)
_KEPT: Final = ("HOME", "USER", "LOGNAME", "PATH", "SSH_AUTH_SOCK", "LANG", "TMPDIR")
_PORT: Final = 22
_HEAD: Final = 4
_PIECE: Final = 65_536
_LONGEST: Final = 16_777_216
_SAID: Final = 4096
_REFUSED: Final = ("permission denied", "host key verification failed", "could not read from")


class SshServer:
    """One talk over ssh.

    Args:
        url: Where.
        settings: What the operator decides.
    """

    def __init__(self, url: RemoteUrl, settings: GitSettings) -> None:
        self._url = url
        self._settings = settings
        self._process: Process | None = None
        self._buffer = bytearray()

    async def advertised(self) -> bytes:
        """Return what it says that it has.

        Raises:
            ToolFailure: When the operator has not named the host, or ssh fails.
        """
        if self._url.host not in {name.lower() for name in self._settings.ssh_hosts}:
            raise ToolFailure(
                f"Nothing says that your keys may be used at {self._url.host}.",
                fix="A person allows it: pegboard config set plugins.git.ssh_hosts "
                f"'[\"{self._url.host}\"]'",
                code="remote_refused",
            )
        try:
            self._process = await anyio.open_process(
                ssh_arguments(self._url),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                start_new_session=True,
            )
        except OSError as error:
            raise unreachable(
                self._url, "ssh is not installed here", fix="A person can install it."
            ) from error
        said = bytearray()
        while not said.endswith(FLUSH) or len(said) < _HEAD:
            line = await self._line()
            said += line
            if line == FLUSH:
                return bytes(said)
            if len(said) > _LONGEST:
                raise too_large(_LONGEST >> 20)
        return bytes(said)

    async def answer(self, question: bytes) -> bytes:
        """Return what it sends for a question.

        Raises:
            ToolFailure: When it sends too much, or ssh fails.
        """
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        try:
            await process.stdin.send(question or FLUSH)
            await process.stdin.aclose()
        except (OSError, anyio.BrokenResourceError):
            raise await self._ended() from None
        limit = self._settings.max_fetch_mb << 20
        while True:
            try:
                self._buffer += await process.stdout.receive(_PIECE)
            except anyio.EndOfStream:
                return bytes(self._buffer)
            if len(self._buffer) > limit:
                raise too_large(self._settings.max_fetch_mb)

    async def aclose(self) -> None:
        """End ssh."""
        process, self._process = self._process, None
        if process is not None:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    process.kill()
                await process.aclose()

    async def _line(self) -> bytes:
        head = await self._exactly(_HEAD)
        try:
            length = read_length(head)
        except ProtocolError as error:
            raise unreachable(self._url, str(error)) from error
        return head + (await self._exactly(length - _HEAD) if length > _HEAD else b"")

    async def _exactly(self, count: int) -> bytes:
        process = self._process
        assert process is not None and process.stdout is not None
        while len(self._buffer) < count:
            try:
                self._buffer += await process.stdout.receive(_PIECE)
            except anyio.EndOfStream:
                raise await self._ended() from None
        found = bytes(self._buffer[:count])
        del self._buffer[:count]
        return found

    async def _ended(self) -> ToolFailure:
        process = self._process
        assert process is not None and process.stderr is not None
        said = b""
        with suppress(anyio.EndOfStream):
            said = await process.stderr.receive(_SAID)
        words = said.decode("utf-8", "replace").strip()
        if any(part in words.lower() for part in _REFUSED):
            return ToolFailure(
                f"{self._url.host} does not let this repository be read: {words}",
                fix="A person can try it: ssh -T " + shlex.quote(self._url.host),
                code="auth_failed",
                outside=True,
            )
        return unreachable(self._url, words or "ssh ended without a word", outside=bool(words))


def ssh_arguments(url: RemoteUrl) -> list[str]:
    """Return how ssh is called; nothing of the URL can be taken for an option or for a command."""
    options = [part for option in _OPTIONS for part in ("-o", option)]
    options += ["-p", str(url.port)] if url.port != _PORT else []
    options += ["-l", url.user] if url.user else []
    path = url.path.removeprefix("/") if url.path.startswith("/~") else url.path
    return ["ssh", "-T", *options, "--", url.host, f"git-upload-pack {shlex.quote(path)}"]
