"""The connection to the other machine: the only module that imports asyncssh."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import asyncssh
from asyncssh import SFTPAttrs, SFTPClient, SSHClientConnection, SSHClientProcess

from pegboard import SandboxError
from pegboard_sandbox_ssh.config import SshSettings

Attributes = SFTPAttrs
RemoteProcess = SSHClientProcess[bytes]
Sftp = SFTPClient
_KEEPALIVE_S: Final = 15
_KEEPALIVES: Final = 4
"""A machine that is silent for that many in a row counts as gone."""
_KINDS: Final[dict[type[asyncssh.SFTPError], tuple[type[OSError], int]]] = {
    asyncssh.SFTPNoSuchFile: (FileNotFoundError, errno.ENOENT),
    asyncssh.SFTPNoSuchPath: (FileNotFoundError, errno.ENOENT),
    asyncssh.SFTPPermissionDenied: (PermissionError, errno.EACCES),
    asyncssh.SFTPFileAlreadyExists: (FileExistsError, errno.EEXIST),
    asyncssh.SFTPNotADirectory: (NotADirectoryError, errno.ENOTDIR),
    asyncssh.SFTPFileIsADirectory: (IsADirectoryError, errno.EISDIR),
}


class Connection:
    """One connection, for files and commands.

    Args:
        ssh: The connection.
        sftp: Its files.
        title: `user@host`, for people.
    """

    def __init__(self, ssh: SSHClientConnection, sftp: SFTPClient, title: str) -> None:
        self._ssh = ssh
        self.sftp = sftp
        self.title = title

    async def start(self, command: str) -> RemoteProcess:
        """Start a line of its user's shell.

        Raises:
            SandboxError: When the connection is gone.
        """
        try:
            return await self._ssh.create_process(command, encoding=None)
        except (asyncssh.Error, OSError) as error:
            raise lost(self.title, error) from error

    async def aclose(self) -> None:
        """End the connection."""
        self.sftp.exit()
        self._ssh.close()
        await self._ssh.wait_closed()


async def connect(settings: SshSettings) -> Connection:
    """Connect and log in.

    Raises:
        SandboxError: When the machine can't be reached, is not known, or does not let us in.
    """
    title = f"{settings.user}@{settings.host}" if settings.user else settings.host
    known = Path(settings.known_hosts or "~/.ssh/known_hosts").expanduser()
    options: dict[str, Any] = {
        # a file that is not there would be read as: trust nobody, said without a word
        "known_hosts": str(known) if known.is_file() else ([], [], []),
        "connect_timeout": settings.connect_timeout_s,
        "login_timeout": settings.connect_timeout_s,
        "keepalive_interval": _KEEPALIVE_S,
        "keepalive_count_max": _KEEPALIVES,
        "agent_forwarding": False,
        "x11_forwarding": False,
    }
    if settings.port is not None:
        options["port"] = settings.port
    if settings.user:
        options["username"] = settings.user
    if settings.identities:
        options["client_keys"] = [str(Path(name).expanduser()) for name in settings.identities]
    try:
        ssh = await asyncssh.connect(settings.host, **options)
    except asyncssh.HostKeyNotVerifiable as error:
        raise SandboxError(
            f"the key of {settings.host} is not in {known}",
            fix=f"ssh-keyscan {_port(settings)}{settings.host} >> {known}, and compare the key",
        ) from error
    except asyncssh.PermissionDenied as error:
        raise SandboxError(
            f"{title} does not let us in: {error.reason}",
            fix=f"ssh-copy-id {_port(settings)}{title}",
        ) from error
    except (asyncssh.Error, OSError, ValueError, TimeoutError) as error:
        why = str(error) or type(error).__name__
        raise SandboxError(
            f"{title} can't be reached: {why}", fix=f"ssh {_port(settings)}{title} true"
        ) from error
    try:
        return Connection(ssh, await ssh.start_sftp_client(), title)
    except (asyncssh.Error, OSError) as error:
        ssh.close()
        raise SandboxError(
            f"{title} gives no files: {error}", fix="Turn on the sftp subsystem of its sshd."
        ) from error


def _port(settings: SshSettings) -> str:
    return "" if settings.port is None else f"-p {settings.port} "


def lost(title: str, error: BaseException) -> SandboxError:
    """Return what is said when the connection is gone."""
    return SandboxError(
        f"the connection to {title} is lost: {error}", fix="Start a new conversation."
    )


@contextmanager
def file_errors(path: str, title: str) -> Iterator[None]:
    """Make the errors of the other machine those of the contract."""
    try:
        yield
    except asyncssh.SFTPError as error:
        if isinstance(error, asyncssh.SFTPNoConnection | asyncssh.SFTPConnectionLost):
            raise lost(title, error) from error
        for kind, (raised, number) in _KINDS.items():
            if isinstance(error, kind):
                raise raised(number, error.reason, path) from error
        raise SandboxError(f"{path}: {error.reason}", fix="Use another path.", path=path) from error
    except (asyncssh.Error, BrokenPipeError, ConnectionError) as error:
        raise lost(title, error) from error
