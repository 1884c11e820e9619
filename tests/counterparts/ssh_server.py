"""An OpenSSH server on loopback, with keys of its own, that lets in whoever runs the tests."""

from __future__ import annotations

import atexit
import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SSHD = "/usr/sbin/sshd"
_PATIENCE_S = 20.0
_PRIVILEGE_SEPARATION = Path("/run/sshd")
_CONFIG = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile {folder}/pid
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
MaxSessions 100
MaxStartups 100:30:200
Subsystem sftp internal-sftp
"""


@dataclass(frozen=True)
class SshServer:
    """A server that runs.

    Args:
        port: Its port on 127.0.0.1.
        user: Who may log in.
        identity: File with the private key to log in with.
        known_hosts: File with the key of the server.
    """

    port: int
    user: str
    identity: Path
    known_hosts: Path


def why_not() -> str | None:
    """Return why no server can be started here, or None."""
    if not Path(_SSHD).exists() or shutil.which("ssh-keygen") is None:
        return f"there is no {_SSHD}"
    if os.getuid() != 0 and not _PRIVILEGE_SEPARATION.is_dir():
        return f"there is no folder {_PRIVILEGE_SEPARATION}"
    return None


@cache
def ssh_server() -> SshServer:
    """Start the server once for all tests of this process; it ends with the process."""
    folder = Path(tempfile.mkdtemp(prefix="pegboard-sshd-"))
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True
        )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "sshd_config").write_text(_CONFIG.format(port=port, folder=folder))
    if os.getuid() == 0:
        _PRIVILEGE_SEPARATION.mkdir(mode=0o755, exist_ok=True)
    log = (folder / "log").open("wb")
    server = subprocess.Popen(
        [_SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stdout=log, stderr=log
    )
    log.close()
    atexit.register(_end, server, folder)
    _wait(server, port, folder)
    kind, key, *_ = (folder / "host.pub").read_text().split()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {kind} {key}\n")
    return SshServer(port, getpass.getuser(), folder / "user", folder / "known_hosts")


def _wait(server: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    end = time.monotonic() + _PATIENCE_S
    while True:
        if server.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"sshd did not start: {(folder / 'log').read_text()}")
        with socket.socket() as there:
            if there.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


def _end(server: subprocess.Popen[bytes], folder: Path) -> None:
    server.terminate()
    server.wait()
    shutil.rmtree(folder, ignore_errors=True)
