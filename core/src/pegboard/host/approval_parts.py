"""How a host puts questions about calls to people, takes their answers, and goes by them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pegboard.config.load import Config, load
from pegboard.contracts.caller import Caller
from pegboard.host.config_changes import HostConfigChanges
from pegboard.host.options import HostOptions
from pegboard.host.parts import HostParts
from pegboard.plugins.running.ids import new_token
from pegboard.policy.approvals import can_be_asked
from pegboard.policy.rules import RULES_KEY, read_rules
from pegboard.turns.approvals import ApprovalDesk
from pegboard.turns.confirm import Confirmations


class ApprovalParts:
    """Joins what takes part in questions about calls.

    Args:
        options: How the host was opened.
        parts: The rooms of the host.

    Attributes:
        changes: Changes the configuration when the owner has agreed.
        desk: Puts questions.
        confirmations: The chat commands that answer them.
    """

    def __init__(self, options: HostOptions, parts: HostParts) -> None:
        self._parts = parts
        config, clock = parts.boot.config, options.clock
        self.changes = HostConfigChanges(
            config,
            load=partial(
                load,
                config.paths,
                project=options.project,
                env=options.env,
                overrides=options.overrides,
            ),
            taken=self._take,
            tool=parts.registry.find,
            clock=clock,
            audit=parts.audit,
        )
        parts.dispatcher.changes = self.changes
        self.desk = ApprovalDesk(
            store=parts.store,
            clock=clock,
            new_token=new_token,
            audit=parts.audit,
            can_be_asked=self._can_be_asked,
            keep=self.changes.allow,
        )
        self.confirmations = Confirmations(
            store=parts.store,
            poke=lambda key: parts.engine.poke(key),
            clock=clock,
            audit=parts.audit,
        )

    def _can_be_asked(self, caller: Caller) -> bool:
        return can_be_asked(self._parts.dispatcher.policy, caller)

    def _take(self, config: Config) -> None:
        """Go by changed settings: by rules, grants of sandboxes, and who is asked."""
        dispatcher = self._parts.dispatcher
        rules = read_rules(config.get(RULES_KEY, ()))
        dispatcher.policy = replace(dispatcher.policy, rules=rules)
        self._parts.workspace.take(config)
        self._parts.agents.take(config)
        self._parts.models.take(config)
