"""The rooms, joined: what a host is made of."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from pegboard.config.load import load
from pegboard.config.secrets import Secrets
from pegboard.config.trust import FolderTrust
from pegboard.contracts.caller import Caller
from pegboard.contracts.context import PluginContext
from pegboard.contracts.effects import ToolKind
from pegboard.contracts.errors import ConfigError, PegboardError, PluginError
from pegboard.contracts.hook_events import PluginStateChanged
from pegboard.contracts.tool import Needs, RegisteredTool, Tool
from pegboard.engine.backend import EmbeddedBackend
from pegboard.host.agents import Agents
from pegboard.host.audit_trail import AuditTrail
from pegboard.host.backends import EMBEDDED, HostBackend
from pegboard.host.delivery import Delivery
from pegboard.host.ingress import Ingress
from pegboard.host.instances import Instances
from pegboard.host.limits import Limits
from pegboard.host.models import Models
from pegboard.host.news_board import NewsBoard
from pegboard.host.options import HostOptions
from pegboard.host.places import Places
from pegboard.host.refusals import Refusals
from pegboard.host.routing_service import RoutingService
from pegboard.host.runs import RunSpaces
from pegboard.host.session_service import SessionService
from pegboard.plugins.decision.boot import Boot
from pegboard.plugins.decision.failures import FailureStore
from pegboard.plugins.decision.state import PluginRecord
from pegboard.plugins.discovery.first_party import HOST_SERVICES
from pegboard.plugins.discovery.manifest import FamilyFact
from pegboard.plugins.running.activate import Activator
from pegboard.plugins.running.hook_table import HookTable
from pegboard.plugins.running.ids import IdMaker
from pegboard.policy.budgets import BudgetSettings
from pegboard.policy.explain import profile_facts
from pegboard.policy.lease import Leases, LeaseTable
from pegboard.policy.profiles import resolve
from pegboard.policy.redaction import environment_secrets
from pegboard.policy.senders import Senders
from pegboard.policy.snapshot import PolicySnapshot
from pegboard.policy.spend_limits import SpendLimits
from pegboard.providers.prices import Prices
from pegboard.store.blobs import FolderBlobs
from pegboard.store.database import Database
from pegboard.store.plugin_storage import PluginStorage
from pegboard.tools import core_tools
from pegboard.tools.current_call import current_call
from pegboard.tools.deferral import Deferral
from pegboard.tools.dispatch import Dispatcher
from pegboard.tools.registry import Registry
from pegboard.tools.search import ToolSearch
from pegboard.turns.compaction import CompactionSettings
from pegboard.turns.open_channels import OpenChannels

SLOTS: Final = 16
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
        self.taken: Callable[[HookTable], None] = lambda hooks: None
        """Told of each new hook table."""
        self._path = options.env.get("PATH")
        self.new_id: Callable[[], str] = IdMaker(clock)
        self.secrets = Secrets(paths, options.env, backend=config.get("secrets.backend", "auto"))
        self.redactor = options.redactor
        self.redactor.add_source(lambda: environment_secrets(options.env))
        self.redactor.add_source(self.secrets.known)
        self.database = Database(paths.state, exclusive=options.resident)
        self.audit = AuditTrail(self.database, clock, self.redactor)
        self.blobs = FolderBlobs(paths.state / "blobs")
        self.compaction = CompactionSettings.of(config.section("compaction"))
        self.channels = OpenChannels()
        self.backend = HostBackend(
            config.get("store.backend", EMBEDDED),
            clock,
            accepts=self.channels.accepts,
            embedded=EmbeddedBackend(
                self.database, beside=paths.plugin_storages, at_once=options.resident
            ),
        )
        self.store = self.backend.store
        self.engine = self.backend.engine
        self.archive = self.backend.archive
        self.news = NewsBoard(paths.state / "news", clock)
        self.delivery = Delivery(
            self.store, self.engine, self.channels, slots=config.get("turns.slots", SLOTS)
        )
        self.activator = Activator(
            boot,
            failures=FailureStore(paths),
            secret=self._secret,
            clock=clock,
            storage=lambda plugin: PluginStorage(plugin, paths.plugin_storage(plugin), clock),
            swap_family=self._swap_family,
            report=_report,
            changed=self._tell_state,
            services={
                "news": lambda: self.news,
                "routing": lambda: RoutingService(self.models, self.agents, self._providers),
                "sessions": lambda: SessionService(self.store, self.archive),
            },
        )
        self.registry = Registry(
            self.activator.resolve,
            self._context,
            names=config.section("names"),
            missing=self._missing,
            limits=config.section("tools").get("limits"),
        )
        self.hooks = self._hook_table((), None)  # filled when the host has looked at all plugins
        search = ToolSearch(paths.cache / "tool-search")
        autonomy = resolve(config.section("autonomy"))
        self.agents = Agents(config)
        policy = PolicySnapshot.from_settings(
            config.section("tools"),
            config.section("policy"),
            scripts=config.section("scripts"),
            autonomy=autonomy,
            agents=self.agents.policies,
        )
        self.leases = LeaseTable(
            new_id=self.new_id,
            changed=self._take_leases,
            longest_s=autonomy.lease_s,
            refusals=autonomy.refusals,
        )
        self.ingress = Ingress(
            Senders.from_settings(config.section("policy")),
            config.section("channels"),
            self.agents.answering,
        )
        self.limits = Limits(
            SpendLimits.from_settings(config.section("limits")),
            self.store,
            clock,
            type_of=self.ingress.type_of,
            prices=Prices.from_settings(config.section("models"), config.section("providers")),
            budgets=BudgetSettings.from_settings(config.section("budgets")),
            plugin=self._asking,
            audit=self.audit,
        )
        self.dispatcher = Dispatcher(
            self.registry,
            hooks=self.hooks,
            policy=policy,
            decided=self._decided,
            audit=self.audit,
            redact=self.redactor,
            refused=Refusals(config.paths.state, options.clock).note,
        )
        core_tools.register(
            self.registry,
            self.dispatcher,
            search,
            searching=config.get("tools.search", True),
        )
        self._search = search
        self.instances = Instances(
            boot, self.activator, make_timeout_s=self.activator.start_timeout_s
        )
        self.models = Models(config, self.instances, clock, has_secret=self.secrets.has)
        folder = (options.workspace or Path.cwd()).resolve()
        self.workspace = Places(
            folder,
            config,
            self.agents,
            self.instances,
            trust=FolderTrust(paths),
            load=lambda project: load(
                paths, project=project, env=options.env, overrides=options.overrides
            ),
            own_settings=options.project is not None,
        )
        self.deferral = Deferral(
            over_tokens=config.get("tools.defer_over_tokens", 12_000),
            search=config.get("tools.search", True),
        )
        self.spaces = RunSpaces(
            dispatcher=self.dispatcher,
            leases=self.leases,
            deferral=self.deferral,
            models=self.models,
            agents=self.agents,
            workspace=self.workspace,
            blobs=self.blobs,
            clock=clock,
            new_id=self.new_id,
            fill=self.compaction.threshold if self.compaction.enabled else None,
            spent=self.limits.spent,
            admit=self.limits.admit,
            archive=self.archive,
            redact=self.redactor,
        )

    def tell_profile(self) -> None:
        """Log which profile is in force and what follows; as a warning for one that may grow."""
        autonomy = resolve(self.boot.config.section("autonomy"))
        level = logging.WARNING if autonomy.profile == "max" else logging.INFO
        facts = " ".join(profile_facts(autonomy))
        _log.log(level, "profile %s ([autonomy] profile): %s", autonomy.profile, facts)

    def _asking(self) -> str:
        """Return the plugin whose tool is running here, or "" for the host."""
        call = current_call.get()
        tool = None if call is None else self.registry.find(call.name)
        return "" if tool is None else tool.plugin

    def _providers(self) -> list[str]:
        """Return the names of the providers that are configured."""
        return [item.name for item in self.instances.configured("provider").instances]

    def take(self) -> None:
        """Fill registry and hook table from what the usable plugins bring; choose all else anew."""
        records = self.activator.records
        self.registry.load(records)
        self.hooks = self.dispatcher.hooks = self._hook_table(records, self.hooks)
        self.models.forget()
        self.workspace.forget()
        self.taken(self.hooks)

    async def aclose(self) -> None:
        """Give back what instances and the sandbox hold."""
        await self.workspace.aclose()
        await self.instances.aclose()
        self._search.close()
        await self.audit.aclose()
        await self.backend.aclose()
        await self.database.aclose()

    def _take_leases(self, leases: Leases) -> None:
        self.dispatcher.policy = replace(self.dispatcher.policy, leases=leases)

    def _decided(self, caller: Caller, denied: bool) -> None:
        self.leases.note(caller.lease, denied=denied)

    def _hook_table(self, records: Iterable[PluginRecord], before: HookTable | None) -> HookTable:
        config = self.boot.config
        return HookTable(
            records,
            self.activator.resolve_hook,
            timeout_s=config.get("hooks.timeout_s", 5.0),
            observe_failures=config.get("hooks.observe_failures", 3),
            report=_report,
            before=before,
        )

    def _secret(self, name: str) -> str | None:
        """Read a secret for a plugin, and know it from now on wherever it turns up."""
        value = self.secrets.get(name)
        if value is not None:
            self.redactor.learn(value)
        return value

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
        # a plugin that goes takes its tools back when it may not be known any more
        first_party = bool(tools) and self.activator.record(plugin_id).first_party
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
                        first_party=first_party,
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
            try:
                if not self.secrets.has(secret):
                    return f"the secret {secret} is not set. Run: pegboard secret set {secret}"
            except ConfigError as error:
                return f"the secret {secret} can't be read: {error.message}. Run: {error.fix}"
        for binary in needs.binaries:
            if shutil.which(binary, path=self._path) is None:
                return f"the program {binary} is not on PATH. Install it."
        for plugin in needs.plugins:
            if not self._usable(plugin):
                return f"the plugin {plugin} can't be used. Run: pegboard plugins why {plugin}"
        for service in needs.services:
            if service not in HOST_SERVICES and not any(
                self._offers(record, service) for record in self.activator.records
            ):
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
        if not record.usable:
            self.take()  # what it brought must not be called any more
        await self.hooks.observe(
            PluginStateChanged(plugin=record.id, state=record.state.value, reason=record.reason)
        )


def _report(plugin_id: str, what: str) -> None:
    _log.warning("plugin %s: %s", plugin_id, what)
