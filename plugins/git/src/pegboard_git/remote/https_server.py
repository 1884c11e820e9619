"""A server over https. Credentials are put into the request here, on the host's side."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from pegboard import ToolFailure
from pegboard_git.remote.remote_url import RemoteUrl
from pegboard_git.remote.server import too_large, unreachable

if TYPE_CHECKING:
    from pegboard_netguard import Fetched, Rules

    from pegboard_git.config import GitSettings

SECRET: Final = "git_credentials"
_SERVICE: Final = "git-upload-pack"
_ASKED: Final = f"/info/refs?service={_SERVICE}"
_READ_S: Final = 60.0
_REFUSED: Final = (401, 403)


class HttpsServer:
    """One talk over https, or over plain http where the operator has opened it.

    Args:
        url: Where.
        settings: What the operator decides.
        credentials: The secret `git_credentials`: a line `https://USER:TOKEN@HOST` for each host.
    """

    def __init__(self, url: RemoteUrl, settings: GitSettings, credentials: str = "") -> None:
        self._url = url
        self._settings = settings
        self._headers = authorization(credentials, url)
        self._base = f"{url.origin}{url.path.rstrip('/')}"

    async def advertised(self) -> bytes:
        """Return what it says that it has.

        Raises:
            ToolFailure: When it may not be asked, or does not answer as a server of git.
        """
        found = await self._fetch(f"{self._base}{_ASKED}")
        if found.headers.get("content-type", "") != f"application/x-{_SERVICE}-advertisement":
            raise unreachable(self._url, "it does not answer as a server of git does")
        if found.url.endswith(_ASKED):  # where a redirect led to, on the same host
            self._base = found.url.removesuffix(_ASKED)
        return found.content

    async def answer(self, question: bytes) -> bytes:
        """Return what it sends for a question.

        Raises:
            ToolFailure: When it refuses, or sends too much.
        """
        if not question:
            return b""
        headers = {
            "content-type": f"application/x-{_SERVICE}-request",
            "accept": f"application/x-{_SERVICE}-result",
        }
        found = await self._fetch(f"{self._base}/{_SERVICE}", question, headers)
        if found.truncated:
            raise too_large(self._settings.max_fetch_mb)
        return found.content

    async def aclose(self) -> None:
        """Do nothing: each request was one connection."""

    async def _fetch(
        self, url: str, content: bytes = b"", headers: dict[str, str] | None = None
    ) -> Fetched:
        from pegboard_netguard import Blocked, FetchError, fetch

        try:
            found = await fetch(
                url,
                method="POST" if content else "GET",
                headers={**self._headers, **(headers or {}), "user-agent": "git/pegboard"},
                content=content,
                rules=self._rules(),
            )
        except Blocked as error:
            raise ToolFailure(
                f"The remote may not be asked: {error}",
                fix="A person can open it: pegboard config set plugins.git.allow_private "
                f"'[\"{self._url.target}\"]'",
                code="remote_refused",
                outside=True,
            ) from error
        except FetchError as error:
            raise unreachable(self._url, str(error)) from error
        self._judge(found)
        return found

    def _judge(self, found: Fetched) -> None:
        if found.status in _REFUSED or (found.status == 404 and not self._headers):
            raise ToolFailure(
                f"{self._url.host} does not let this repository be read (status {found.status}).",
                fix="If it is private, a person sets `pegboard secret set git_credentials` to a "
                f"line like https://USER:TOKEN@{self._url.host}",
                code="auth_failed",
            )
        if found.status != 200:
            raise unreachable(self._url, f"it answered with status {found.status}")

    def _rules(self) -> Rules:
        from pegboard_netguard import Rules

        settings, url = self._settings, self._url
        return Rules(
            hosts=frozenset({url.host}),
            ports=frozenset({url.port}),
            private=frozenset(settings.allow_private),
            read_s=_READ_S,
            total_s=settings.fetch_seconds,
            max_bytes=settings.max_fetch_mb << 20,
        )


def authorization(credentials: str, url: RemoteUrl) -> dict[str, str]:
    """Return the header that logs in at a server; none where no line names it.

    Args:
        credentials: A URL with user and password on each line, as git's own store has them.
        url: The server; a line is for exactly one scheme, host and port.
    """
    for line in credentials.split():
        try:
            known = urlsplit(line)
            port = known.port
        except ValueError:
            continue
        default = {"https": 443, "http": 80}.get(known.scheme, 0)
        same = (known.scheme, known.hostname, port or default)
        if same == (url.scheme, url.host, url.port) and known.password is not None:
            pair = f"{unquote(known.username or '')}:{unquote(known.password)}"
            return {"authorization": f"Basic {b64encode(pair.encode()).decode()}"}
    return {}
