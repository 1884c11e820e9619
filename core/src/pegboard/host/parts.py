"""The rooms, joined: what a host is made of."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import cast

from pegboard.config.secrets import Secrets
from pegboard.contracts.context import PluginContext
from pegboard.contracts.effects import ToolKind
from pegboard.contracts.errors import PegboardError, PluginError
from pegboard.contracts.hook_events import PluginStateChanged
from pegboard.contracts.tool import Needs, RegisteredTool, Tool
from pegboard.host.instances import Instances
from pegboard.host.models import Models
from pegboard.host.options import HostOptions
from pegboard.host.runs import RunSpaces
from pegboard.host.workspace import Workspace
from pegboard.plugins.decision.boot import Boot
from pegboard.plugins.decision.failures import FailureStore
from pegboard.plugins.decision.state import PluginRecord
from pegboard.plugins.discovery.manifest import FamilyFact
from pegboard.plugins.running.activate import Activator
from pegboard.plugins.running.hook_table import HookTable
from pegboard.plugins.running.ids import IdMaker
from pegboard.policy.decide import PolicySnapshot
from pegboard.store.blobs import FolderBlobs
from pegboard.tools import core_tools
from pegboard.tools.deferral import Deferral
from pegboard.tools.dispatch import Dispatcher
from pegboard.tools.registry import Registry
from pegboard.tools.search import ToolSearch

_log = logging.getLogger("pegboard.host")


class HostParts:
    """Makes and holds the rooms of one host. Nothing of a plugin is imported here.

    Args:
        options: How the host is opened.
        boot: What was found and decided.
    """

    def __init__(self, options: HostOptions, boot: Boot) -> None:
        config, paths, clock = boot.config, boot.paths, options.clock
        self.boot = boot
        self.new_id: Callable[[], str] = IdMaker(clock)
        self.secrets = Secrets(paths, options.env, backend=config.get("secrets.backend", "auto"))
        self.activator = Activator(
            boot,
            failures=FailureStore(paths),
            secret=self.secrets.get,
            clock=clock,
            swap_family=self._swap_family,
            report=_report,
            changed=self._tell_state,
        )
        self.registry = Registry(
            self.activator.resolve,
            self._context,
            names=config.section("names"),
            missing=self._missing,
        )
        self.hooks = self._hook_table(())  # filled when the host has looked at all plugins
        search = ToolSearch(paths.cache / "tool-search")
        policy = PolicySnapshot.from_settings(config.section("tools"), config.section("policy"))
        self.dispatcher = Dispatcher(self.registry, hooks=self.hooks, policy=policy)
        core_tools.register(
            self.registry,
            self.dispatcher,
            search,
            searching=config.get("tools.search", True),
        )
        self._search = search
        self.instances = Instances(boot, self.activator)
        self.models = Models(config, self.instances, clock)
        folder = (options.workspace or Path.cwd()).resolve()
        self.workspace = Workspace(folder, config, self.instances)
        self.deferral = Deferral(
            over_tokens=config.get("tools.defer_over_tokens", 12_000),
            search=config.get("tools.search", True),
        )
        self.spaces = RunSpaces(
            dispatcher=self.dispatcher,
            deferral=self.deferral,
            models=self.models,
            workspace=self.workspace,
            blobs=FolderBlobs(paths.state / "blobs"),
            clock=clock,
            new_id=self.new_id,
        )

    def rebuild_hooks(self, records: Iterable[PluginRecord]) -> HookTable:
        """Make the hook table anew from the plugins' states and return it."""
        self.hooks = self._hook_table(records)
        return self.hooks

    async def aclose(self) -> None:
        """Give back what instances and the sandbox hold."""
        await self.workspace.aclose()
        await self.instances.aclose()
        self._search.close()

    def _hook_table(self, records: Iterable[PluginRecord]) -> HookTable:
        config = self.boot.config
        return HookTable(
            records,
            self.activator.resolve_hook,
            timeout_s=config.get("hooks.timeout_s", 5.0),
            observe_failures=config.get("hooks.observe_failures", 3),
            report=_report,
        )

    def _context(self, plugin_id: str) -> PluginContext:
        active = self.activator.active(plugin_id)
        if active is None:
            raise PluginError(
                f"The plugin {plugin_id} is not active.", fix=f"pegboard plugins why {plugin_id}"
            )
        return active.context

    def _swap_family(
        self, plugin_id: str, family: FamilyFact, group: str, tools: Sequence[Tool]
    ) -> None:
        record = self.activator.record(plugin_id)
        metadata = {"family": family.prefix, "plugin": plugin_id}
        if group:
            metadata["group"] = group
        self.registry.swap_family(
            metadata,
            [
                (
                    RegisteredTool(
                        tool.spec,
                        plugin_id,
                        kind=cast("ToolKind", family.kind),
                        first_party=record.first_party,
                        metadata=metadata,
                    ),
                    tool,
                )
                for tool in tools
            ],
        )

    def _missing(self, needs: Needs) -> str | None:
        """Say what one tool lacks and how to get it; its package stays usable."""
        for secret in needs.secrets:
            if not self.secrets.has(secret):
                return f"the secret {secret} is not set. Run: pegboard secret set {secret}"
        for binary in needs.binaries:
            if shutil.which(binary) is None:
                return f"the program {binary} is not on PATH. Install it."
        for plugin in needs.plugins:
            if not self._usable(plugin):
                return f"the plugin {plugin} can't be used. Run: pegboard plugins why {plugin}"
        for service in needs.services:
            if not any(self._offers(record, service) for record in self.activator.records):
                return f"no plugin offers the service {service}."
        return None

    def _usable(self, plugin_id: str) -> bool:
        try:
            return self.activator.record(plugin_id).usable
        except PegboardError:
            return False

    @staticmethod
    def _offers(record: PluginRecord, service: str) -> bool:
        manifest = record.manifest
        return record.usable and manifest is not None and service in manifest.services

    async def _tell_state(self, record: PluginRecord) -> None:
        await self.hooks.observe(
            PluginStateChanged(plugin=record.id, state=record.state.value, reason=record.reason)
        )


def _report(plugin_id: str, what: str) -> None:
    _log.warning("plugin %s: %s", plugin_id, what)
