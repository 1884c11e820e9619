"""Where a remote is, out of its URL: over https or ssh, and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from pegboard import ToolFailure
from pegboard_git.names import shown

_SCP: Final = re.compile(r"(?:(?P<user>[\w.+-]+)@)?(?P<host>[\w.-]+|\[[\da-fA-F:]+\]):(?P<path>.+)")
_URL: Final = re.compile(
    r"(?P<scheme>https?|ssh|git\+ssh|ssh\+git)://(?:(?P<user>[^/@:]*)(?::(?P<password>[^/@]*))?@)?"
    r"(?P<host>[\w.-]+|\[[\da-fA-F:]+\])(?::(?P<port>\d{1,5}))?(?P<path>/.*)?",
    re.IGNORECASE,
)
_PLAIN_PATH: Final = re.compile(r"[\w./~+@%-]+")
_USER: Final = re.compile(r"[\w.+-]+")
_PASSWORD: Final = re.compile(r"(://[^/@:]*):[^/]*@")
_TOKEN: Final = re.compile(r"(?i)^(https?://)[^/@:]+@")
_QUERY: Final = re.compile(r"(?s)(://[^?#]*[?#]).*")
_PORTS: Final = {"https": 443, "http": 80, "ssh": 22}


@dataclass(frozen=True, slots=True)
class RemoteUrl:
    """A remote that may be asked.

    Args:
        scheme: How.
        host: Name or address; an IPv6 address without brackets.
        port: Port.
        path: The repository there: from the root for https, as ssh takes it for ssh.
        user: Whom to log in as over ssh, or "".
    """

    scheme: Literal["https", "http", "ssh"]
    host: str
    port: int
    path: str
    user: str = ""

    @property
    def origin(self) -> str:
        """Scheme, host and port, as a URL has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    @property
    def target(self) -> str:
        """The pair `host:port`."""
        return f"{self.host}:{self.port}"


def parse_remote(url: str) -> RemoteUrl:
    """Return where a remote is.

    Raises:
        ToolFailure: When its URL is of another kind, or holds what could be taken for an option or
            for a command.
    """
    if "::" in url.partition("/")[0] and not url.startswith("["):
        raise _refused(url, "names a helper program")
    found = _URL.fullmatch(url)
    if found is not None:
        scheme = found["scheme"].lower()
        if scheme in ("git+ssh", "ssh+git"):
            scheme = "ssh"
        return _checked(url, scheme, found["user"], found["host"], found["port"], found["path"])
    if "://" in url:
        raise _refused(url, "is neither https nor ssh")
    short = _SCP.fullmatch(url)
    if short is None or url.startswith(("/", ".", "~")):
        raise _refused(url, "is a folder of this machine, not a server")
    return _checked(url, "ssh", short["user"], short["host"], None, short["path"])


def without_password(url: str) -> str:
    """Return a URL as it can be shown; a token is often all that stands before the host."""
    return _QUERY.sub(r"\1***", _TOKEN.sub(r"\1***@", _PASSWORD.sub(r"\1:***@", url)))


def _checked(
    url: str, scheme: str, user: str | None, host: str, port: str | None, path: str | None
) -> RemoteUrl:
    name = host.strip("[]").lower()
    if not name or name.startswith("-"):
        raise _refused(url, "has no host")
    where = path or ""
    if _PLAIN_PATH.fullmatch(where) is None or where.startswith("-") or "/../" in f"{where}/":
        raise _refused(url, "holds an unusual path")
    if user and (_USER.fullmatch(user) is None or user.startswith("-")):
        raise _refused(url, "holds an unusual user name")
    number = int(port) if port else _PORTS[scheme]
    if not 0 < number < 65_536:
        raise _refused(url, "holds no usable port")
    kind: Literal["https", "http", "ssh"] = (
        "ssh" if scheme == "ssh" else "https" if scheme == "https" else "http"
    )
    return RemoteUrl(kind, name, number, where, (user or "") if kind == "ssh" else "")


def _refused(url: str, why: str) -> ToolFailure:
    return ToolFailure(
        f"The remote's URL {shown(without_password(url))!r} {why}.",
        fix="This tool fetches over https://HOST/PATH and ssh://HOST/PATH; a person can set the "
        "remote's URL: git remote set-url",
        code="remote_refused",
    )
