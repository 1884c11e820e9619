"""What a host keeps of conversations: how much of them a model is given, and for how long."""

from __future__ import annotations

import sys
from typing import Final

from pegboard.conversations.history import History
from pegboard.conversations.key import ConversationKey
from pegboard.host.daily_pruner import DailyPruner
from pegboard.host.erasure_backlog import ErasureBacklog
from pegboard.host.model_choice import AS_CONFIGURED
from pegboard.host.options import HostOptions
from pegboard.host.parts import HostParts
from pegboard.host.session_admin import SessionAdmin
from pegboard.providers.route import Route
from pegboard.store.retention import Retention
from pegboard.turns.compaction import CompactCommand, Compactor

_ALL: Final = {"max_messages": sys.maxsize, "max_chars": sys.maxsize}
"""With summaries nothing is left out of what a model is given."""


class ConversationParts:
    """The parts that have to do with it, joined.

    Args:
        options: How the host is opened.
        parts: The rooms of the host.
    """

    def __init__(self, options: HostOptions, parts: HostParts) -> None:
        config, clock = parts.boot.config, options.clock
        self._parts = parts
        self.history = History(parts.store, **(_ALL if parts.compaction.enabled else {}))
        self.compactor = Compactor(parts.store, clock, parts.compaction)
        self.compact = CompactCommand(
            compactor=self.compactor,
            route=self._route,
            changed=self.history.forget,
            limits=parts.limits,
        )
        self.sessions = SessionAdmin(
            parts.store,
            parts.archive,
            parts.blobs.folder,
            clock,
            new_id=parts.new_id,
            changed=self.history.forget,
            audit=parts.audit,
            elsewhere=ErasureBacklog(
                parts.archive,
                (config.paths.plugin_storages, config.paths.state),  # here are the news
                clock,
                lambda event: parts.hooks.observe(event),
            ).try_to_catch_up,
        )
        self.pruner = DailyPruner(
            self.sessions,
            Retention.of(config.section("store")),
            clock,
            config.paths.state / "tidied",
        )

    async def _route(self, key: str) -> Route:
        """Return whom the agent of a conversation asks."""
        agent = self._parts.agents.known(ConversationKey.read(key).agent)
        model_choice = AS_CONFIGURED if agent is None else agent.model_choice
        return await self._parts.models.route(*model_choice)
