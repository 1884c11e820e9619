"""Connections that are made only to addresses that were looked at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import anyio

from pegboard_netguard.http import (
    AnyIOBackend,
    AsyncConnectionPool,
    AsyncHTTPTransport,
    AsyncNetworkBackend,
    AsyncNetworkStream,
    ConnectError,
    ConnectTimeout,
    create_ssl_context,
)
from pegboard_netguard.lookup import resolve
from pegboard_netguard.rules import DEFAULT, Blocked, Rules


class GuardedBackend(AsyncNetworkBackend):
    """Looks every name up itself and connects to what it has checked.

    TLS is left as it is: the certificate must still be that of the name.

    Args:
        rules: What may be reached.
    """

    def __init__(self, rules: Rules = DEFAULT) -> None:
        self._rules = rules
        self._inner = AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        """Connect to the first address of a host that answers.

        Raises:
            Blocked: When the host may not be reached.
            ConnectError, ConnectTimeout: When nothing answers.
        """
        try:
            addresses = await resolve(host, port, self._rules)
        except TimeoutError as error:
            raise ConnectTimeout(f"looking up {host} took too long") from error
        except OSError as error:
            why = error.strerror or error
            raise ConnectError(f"{host} could not be looked up: {why}") from error
        failed: Exception = ConnectError(f"{host} has no address")
        for address in addresses:
            try:
                return await self._inner.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (ConnectError, ConnectTimeout) as error:
                failed = error
        raise failed

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        """Refuse: a guarded request goes to a host.

        Raises:
            Blocked: Always.
        """
        raise Blocked("blocked: a unix socket is no host")

    async def sleep(self, seconds: float) -> None:
        """Wait between two attempts."""
        await anyio.sleep(seconds)


class GuardedTransport(AsyncHTTPTransport):
    """A transport for an HTTP client whose every connection is guarded.

    Args:
        rules: What may be reached.
        max_connections: Connections at one time.
    """

    def __init__(self, rules: Rules = DEFAULT, *, max_connections: int = 10) -> None:
        super().__init__(trust_env=False)
        # the client's own transport takes no network backend; its pool does
        self._pool = AsyncConnectionPool(
            ssl_context=create_ssl_context(trust_env=False),
            max_connections=max_connections,
            network_backend=GuardedBackend(rules),
        )
