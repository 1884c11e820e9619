"""Whose a chat command is: Pegboard's own words are nobody else's, a word of two is nobody's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from pegboard.config.schema import Problem
from pegboard.plugins.discovery.chat_command import KIND

if TYPE_CHECKING:
    from pegboard.plugins.decision.state import PluginRecord
    from pegboard.plugins.discovery.manifest_fields import ContributionFact

OWN: Final = frozenset(
    {
        *("background", "clear", "compact", "confirm", "deny", "help", "new", "plugins", "rescan"),
        *("status", "stop", "tasks", "tools", "ultra", "whoami", "why"),
    }
)
"""The chat commands of every host, spelled out here because listing plugins makes no host."""


class ChatCommandTable(NamedTuple):
    """Who has which word.

    Args:
        found: Word -> the plugin that brings it, and what it says of it.
        problems: The words that somebody brings and does not get, each with what mends it.
    """

    found: Mapping[str, tuple[PluginRecord, ContributionFact]]
    problems: tuple[Problem, ...] = ()


def chat_commands(records: Iterable[PluginRecord]) -> ChatCommandTable:
    """Share out the words that usable plugins bring."""
    wanted: dict[str, list[tuple[PluginRecord, ContributionFact]]] = {}
    for record in records:
        for fact in record.manifest.contributions if record.usable and record.manifest else ():
            if fact.kind == KIND:
                wanted.setdefault(fact.name, []).append((record, fact))
    found = {}
    problems = []
    for name, items in sorted(wanted.items()):
        who = " and ".join(f"{record.id} ({record.dist})" for record, _ in items)
        fix = f"pegboard plugins disable {items[-1][0].id}"
        if name in OWN:
            message = f"{who} can't have the chat command /{name}, which is Pegboard's own"
            problems.append(Problem(f"/{name}", message, fix))
        elif len(items) > 1:
            message = f"{who} both bring the chat command /{name}, so neither has it"
            problems.append(Problem(f"/{name}", message, fix))
        else:
            found[name] = items[0]
    return ChatCommandTable(found, tuple(problems))
