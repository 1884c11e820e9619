"""What of this machine a confined command needs to see in order to run programs."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from pegboard.sandboxes import SECRETS

_PROGRAMS: Final = ("/usr", "/nix/store", "/gnu/store", "/run/current-system")
_MERGED: Final = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_LOADER: Final = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d")
_COMFORTS: Final = (
    *("ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/ca-trust/extracted", "ca-certificates"),
    *("crypto-policies", "localtime", "timezone", "mime.types", "protocols", "services"),
    *("magic", "fonts", "terminfo"),
)
"""Below /etc: without secrets, and asked for by many programs."""
_TOOLCHAINS: Final = (
    *(".local/share/uv/python", ".local/share/uv/tools", ".local/share/mise/installs"),
    *(".pyenv", ".rbenv", ".nvm", ".volta", ".asdf", ".ghcup", ".bun/bin", ".deno/bin", "go/bin"),
    *(".rustup/toolchains", ".cargo/bin", ".sdkman/candidates", ".juliaup/bin", ".julia/juliaup"),
)
"""Below the home folder: where version managers keep programs, beside no secret."""
_OTHERS_SECRETS: Final = (
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers"),
    *("/etc/sudoers.d", "/etc/ssl/private", "/etc/ssh", "/etc/krb5.keytab", "/etc/NetworkManager"),
    *("/etc/wireguard", "/etc/ppp", "/etc/security/opasswd", "/var/lib/sss", "/var/spool/cron"),
    *("/var/lib/docker", "/var/lib/containers", "/var/lib/kubelet", "/etc/kubernetes"),
)
"""Secrets of the machine that root could read."""


@dataclass(frozen=True, slots=True)
class HostSystem:
    """What is shown beside the grants.

    Args:
        links: Links at the root of the file system, with their targets.
        folders: Folders and files with programs and what these need, to be read only.
        comforts: More of that, which strict leaves out.
    """

    links: tuple[tuple[str, str], ...]
    folders: tuple[str, ...]
    comforts: tuple[str, ...]

    @property
    def visible(self) -> tuple[str, ...]:
        """Everything that programs may be in."""
        return (*self.folders, *(link for link, _ in self.links), *self.comforts)


def look_at_host(home: Path | None = None) -> HostSystem:
    """Return what this machine has.

    Args:
        home: The person's home folder; None = as the system says.
    """
    house = Path.home() if home is None else home
    links, folders = [], [path for path in _PROGRAMS if os.path.isdir(path)]  # noqa: PTH112
    for path in _MERGED:
        kind = _kind(path)
        if kind is not None and stat.S_ISLNK(kind):
            links.append((path, os.readlink(path).lstrip("/")))  # noqa: PTH115
        elif kind is not None:
            folders.append(path)
    folders += _existing(f"/etc/{name}" for name in _LOADER)
    comforts = [
        *_existing(f"/etc/{name}" for name in _COMFORTS),
        *_existing(os.path.realpath(house / name) for name in _TOOLCHAINS),
    ]
    return HostSystem(tuple(links), tuple(folders), tuple(comforts))


@cache
def account_files() -> dict[str, bytes]:
    """Return /etc files that name this user and nobody else."""
    user, group = os.getuid(), os.getgid()
    name, group_name = user_name(), _group_name(group)
    return {
        "/etc/passwd": f"{name}:x:{user}:{group}::/tmp:/bin/sh\n".encode(),
        "/etc/group": f"{group_name}:x:{group}:\n".encode(),
        "/etc/hosts": b"127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
        "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files dns\n",
    }


def user_name() -> str:
    """Return the name of this user, or one that stands for it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return "user"


def machine_secrets() -> Iterator[Path]:
    """Yield secrets of the machine and of other people, for a view of the whole file system."""
    yield from map(Path, _OTHERS_SECRETS)
    homes = {entry.pw_dir for entry in pwd.getpwall()} - {"/", str(Path.home())}
    for home in sorted(homes):
        if os.access(home, os.X_OK):
            yield from (Path(home) / name for name in SECRETS)


def _group_name(group: int) -> str:
    try:
        return grp.getgrgid(group).gr_name
    except KeyError:
        return "user"


def _existing(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if os.path.exists(path)]  # noqa: PTH110 - strings


def _kind(path: str) -> int | None:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return None
