"""Open and close a host."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from pegboard.config.load import load
from pegboard.config.paths import find_paths
from pegboard.contracts.errors import StoreError
from pegboard.host.host import Host
from pegboard.host.options import HostOptions
from pegboard.host.parts import HostParts
from pegboard.plugins.decision.boot import boot
from pegboard.policy.redaction import redacted_logs
from pegboard.store.database import Database

STOP_S = 20.0
"""Seconds that a host may take to give back what it holds, whatever its parts allow themselves."""
OWN_TRIES = 20
_OWN_S = 0.05


@asynccontextmanager
async def open_host(options: HostOptions | None = None) -> AsyncIterator[Host]:
    """Open a host for the time of the block.

    Raises:
        ConfigError: When the configuration is wrong.
        UsageError: When `PEGBOARD_PLUGINS` names a plugin that is not installed.
        PluginError: When a required plugin can't be used and `on_failure` is "abort".
        StoreError: When it is to own the store, and another host has it.
    """
    options = options or HostOptions()
    paths = options.paths or find_paths(options.env)
    config = load(paths, project=options.project, env=options.env, overrides=options.overrides)
    config.require_valid()
    found = boot(
        config,
        safe=options.safe,
        only=options.only,
        path=options.plugin_path,
        env=options.env,
        retry_failed=True,
    )
    parts = HostParts(options, found)
    host = Host(options, parts)
    with redacted_logs(options.redactor):
        if options.resident:
            await _own(parts.database)  # before anything of a plugin runs: it may be taken
        # the plugins end last but one: what they leave for later is kept
        async with parts.news, parts.activator, _opened(parts), host.pruner, parts.delivery:
            try:
                await host.start()
                if options.resident:
                    await host.sessions.erase_elsewhere()  # what a host that died left undone
                yield host
            finally:
                with anyio.move_on_after(STOP_S, shield=True):
                    await host.stop()


@asynccontextmanager
async def _opened(parts: HostParts) -> AsyncIterator[None]:
    """Open the backend; where that fails, give back what the rooms hold."""
    try:
        await parts.backend.open(parts.instances, parts.activator)
    except BaseException:
        with anyio.move_on_after(STOP_S, shield=True):
            await parts.aclose()
        raise
    yield


async def _own(database: Database) -> None:
    """Open the store for this host alone.

    Commands that look whether a host owns it hold its lock for a moment.

    Raises:
        StoreError: When another host owns it, or uses it for longer.
    """
    for _ in range(OWN_TRIES):
        try:
            return await database.open()
        except StoreError as error:
            if "pid" in error.details:
                raise
        await anyio.sleep(_OWN_S)
    await database.open()
