"""Take over changed settings while the host runs, and say which count only after a restart."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import anyio
import anyio.to_thread

from pegboard.config.keys import join_key, split_key
from pegboard.config.load import Config
from pegboard.host.agents import Agents
from pegboard.host.host import Host
from pegboard.host.ingress import local_caller
from pegboard.host.parts import HostParts
from pegboard.plugins.decision.rescan import Changes
from pegboard.policy.audit import audited
from pegboard.policy.budgets import BudgetSettings
from pegboard.policy.profiles import resolve
from pegboard.policy.senders import Senders
from pegboard.policy.snapshot import PolicySnapshot
from pegboard.policy.spend_limits import SpendLimits
from pegboard.providers.prices import Prices

LIVE: Final = (
    "agent.",
    "agents.",
    "budgets.",
    "channels.",
    "hooks.",
    "limits.",
    "log.",
    "models.",
    "plugins.disabled",
    "plugins.on_failure",
    "plugins.required",
    "policy.",
    "providers.",
    "sandbox.",
    "sandboxes.",
    "scripts.",
    "serve.drain_s",
    "skill_sources.",
    "tools.allowed",
    "tools.excluded",
)
"""Settings by which a running host goes as soon as it has read them again."""
_PLUGINS: Final = "plugins"
_ABSENT: Final = object()
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    """What became of changed settings.

    Args:
        taken: Keys that count now and have another value than before.
        restart: Keys whose values in the files count only after a restart.
        plugins: Plugins that came, went or changed.
    """

    taken: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()
    plugins: Changes = Changes()  # noqa: RUF009 - a named tuple never changes

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-serialisable data."""
        return {
            "taken": list(self.taken),
            "restart": list(self.restart),
            "plugins": {name: list(ids) for name, ids in self.plugins._asdict().items()},
        }


class Reloader:
    """Reads the settings again and lets a host go by them.

    Args:
        host: The host.
        parts: Its rooms.
        load: Reads the settings.
        taken: Told of the settings once they count.
    """

    def __init__(
        self,
        host: Host,
        parts: HostParts,
        load: Callable[[], Config],
        taken: Callable[[Config], None] = lambda config: None,
    ) -> None:
        self._host = host
        self._parts = parts
        self._load = load
        self._taken = taken
        self._in_force = dict(_flat(host.config.data))
        self._autonomy = resolve(host.config.section("autonomy"))  # leases go by it as well
        self._lock = anyio.Lock()
        self.restart: tuple[str, ...] = ()
        """Keys whose values count only after a restart."""

    async def reload(self, rule: str = "", subject: str = "") -> Reloaded:
        """Read the settings again.

        Args:
            rule: What the person did for that, for the audit log; "" = they changed the files.
            subject: What they changed; "" = the keys that differ.

        Raises:
            ConfigError: When they are wrong; the host goes on by those that it has.
        """
        async with self._lock:
            config = await anyio.to_thread.run_sync(self._load)
            config.require_valid()
            new = dict(_flat(config.data))
            changed = {
                key
                for key in self._in_force.keys() | new.keys()
                if self._in_force.get(key, _ABSENT) != new.get(key, _ABSENT)
            }
            taken = tuple(sorted(key for key in changed if self._is_live(key)))
            self._apply(config)
            for key in taken:
                if key in new:
                    self._in_force[key] = new[key]
                else:
                    del self._in_force[key]
            self.restart = tuple(sorted(changed.difference(taken)))
            plugins = await self._host.rescan()
            self._taken(config)
            # also where no value differs: secrets and packages may be others
            now = self._host.options.clock.now()
            await self._parts.audit(
                audited(
                    "admin",
                    rule or "config.reload",
                    "allow",
                    local_caller(),
                    at=now,
                    subject=subject or ", ".join(sorted(changed)),
                )
            )
        if taken or self.restart:
            _log.info("settings were read again: %s", ", ".join(taken) or "nothing new")
        if self.restart:
            _log.warning("these settings count after a restart: %s", ", ".join(self.restart))
        return Reloaded(taken=taken, restart=self.restart, plugins=plugins)

    def _is_live(self, key: str) -> bool:
        section, *rest = split_key(key)
        if section == _PLUGINS and len(rest) > 1:
            return self._host.activator.active(rest[0]) is None  # it reads them when it starts
        return key.startswith(LIVE)

    def _apply(self, config: Config) -> None:
        """Let everything go by new settings; nothing is changed when one can't be read."""
        host, parts = self._host, self._parts
        senders = Senders.from_settings(config.section("policy"))
        limits = SpendLimits.from_settings(config.section("limits"))
        budgets = BudgetSettings.from_settings(config.section("budgets"))
        prices = Prices.from_settings(config.section("models"), config.section("providers"))
        agents = Agents(config)
        policy = PolicySnapshot.from_settings(
            config.section("tools"),
            config.section("policy"),
            scripts=config.section("scripts"),
            autonomy=self._autonomy,
            agents=agents.policies,
        )
        parts.agents.take(config)
        parts.models.take(config)
        parts.ingress.take(senders, config.section("channels"))
        parts.limits.take(limits, budgets, prices)
        parts.dispatcher.policy = replace(policy, leases=parts.dispatcher.policy.leases)
        parts.workspace.take(config)
        host.take_config(config)


def _flat(data: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield each value of nested tables with its dotted key; an empty table counts as a value."""
    for name, value in data.items():
        here = (*above, name)
        if isinstance(value, Mapping) and value:
            yield from _flat(value, here)
        else:
            yield join_key(here), value
