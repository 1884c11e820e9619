"""The operator's own rules: what is asked about, refused, or let pass without a question."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pegboard.contracts.caller import Caller
from pegboard.contracts.effects import Effects, Trust, effects
from pegboard.contracts.errors import ConfigError
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Outcome
from pegboard.policy.patterns import Pattern, check_pattern

Action = Literal["ask", "deny", "allow"]
OUTCOMES: Final[Mapping[str, Outcome]] = {
    "allow": Outcome.ALLOW,
    "ask": Outcome.ASK,
    "deny": Outcome.DENY,
}
RULES_KEY: Final = "policy.rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. What it leaves open it does not look at.

    Args:
        name: Where it stands in the configuration: `policy.rules[0]`.
        outcome: What it decides.
        tool: Glob over the tool's names, or None.
        effects: It is about calls with any of these effects; one that allows, about calls that have
            no others. None = it does not look at them.
        arguments: Name of an argument and the patterns of which one must match it.
        exact: Every argument of the call as JSON, by name; None = it does not look at them.
        trust: The trust of whom it is about; None = everybody.
        channel: Glob over the channel's instance name, or None.
        agent: Glob over the agent's id, or None.
        words: What the person is asked, or why it is refused; "" = a sentence of its own.
    """

    name: str
    outcome: Outcome
    tool: Pattern | None = None
    effects: Effects | None = None
    arguments: tuple[tuple[str, tuple[Pattern, ...]], ...] = ()
    exact: tuple[tuple[str, str], ...] | None = None
    trust: Trust | None = None
    channel: Pattern | None = None
    agent: Pattern | None = None
    words: str = ""

    @property
    def allows(self) -> bool:
        """True for a rule that lets pass: it then matches only what it is sure of."""
        return self.outcome is Outcome.ALLOW

    @property
    def looks_at_arguments(self) -> bool:
        """True when two calls of one tool may be judged differently."""
        return bool(self.arguments) or self.exact is not None

    def is_about_caller(self, caller: Caller) -> bool:
        """Tell whether the rule is about calls of this caller.

        Less trust never means more: what is asked of an operator, or refused, a guest is not given
        either, and what a guest may do without a question an operator may.
        """
        if self.trust is not None and caller.trust != self.trust:
            widest: Trust = "guest" if self.allows else "operator"
            if self.trust != widest:
                return False
        return _fits(self.channel, caller.channel) and _fits(self.agent, caller.agent)

    def is_about_tool(self, tool: RegisteredTool) -> bool:
        """Tell whether the rule is about a tool; one that allows goes by the names it is known by.

        The short name of two tools that clash is nobody's, so it allows neither and may deny both.
        """
        if self.tool is None:
            return True
        names = {tool.canonical, tool.name or tool.canonical}
        if not self.allows:
            names |= {tool.spec.name, tool.wire_name, *tool.spec.aliases}
        return any(self.tool.could((name,)) for name in names)

    def is_about_effects(self, found: Effects) -> bool:
        """Tell whether the rule is about calls with exactly these effects."""
        if self.effects is None:
            return True
        return found <= self.effects if self.allows else not found.isdisjoint(self.effects)


def read_rules(section: Iterable[Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Read the tables `[[policy.rules]]`, which the schema has found right.

    Raises:
        ConfigError: When a pattern is none, or a key makes no sense beside the others.
    """
    return tuple(_rule(table, f"{RULES_KEY}[{at}]") for at, table in enumerate(section))


def plain_json(value: Any) -> str:
    """Return a value as JSON in one form, for comparing."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _rule(table: Mapping[str, Any], where: str) -> Rule:
    arguments = table.get("arguments", {})
    exact = table.get("exact")
    if arguments and exact is not None:
        raise ConfigError(
            f"{where} has `arguments` and `exact`, which says all of them",
            fix=f"remove one of them from {where} in config.toml",
            path=where,
        )
    for name, value in arguments.items():
        for pattern in _texts(value):
            check_pattern(pattern, f"{where}.arguments.{name}")
    given = table.get("effect")
    return Rule(
        name=where,
        outcome=OUTCOMES[table["action"]],
        tool=_pattern(table.get("tool")),
        effects=None if given is None else effects([given] if isinstance(given, str) else given),
        arguments=tuple(
            (name, tuple(map(Pattern, _texts(value)))) for name, value in arguments.items()
        ),
        exact=None if exact is None else _exact(exact, f"{where}.exact"),
        trust=table.get("trust"),
        channel=_pattern(table.get("channel")),
        agent=_pattern(table.get("agent")),
        words=table.get("question", "") or table.get("reason", ""),
    )


def _texts(value: Any) -> Sequence[str]:
    values = value if isinstance(value, list) else [value]
    return [item if isinstance(item, str) else plain_json(item) for item in values]


def _exact(table: Mapping[str, Any], where: str) -> tuple[tuple[str, str], ...]:
    try:
        return tuple(sorted((name, plain_json(value)) for name, value in table.items()))
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"{where} holds what no call can hold: {error}",
            fix=f"mend {where} in config.toml",
            path=where,
        ) from error


def _pattern(text: str | None) -> Pattern | None:
    return None if text is None else Pattern(text)


def _fits(pattern: Pattern | None, text: str) -> bool:
    return pattern is None or pattern.could((text,))
