"""What an operator expects of the policy, as a file says it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from pegboard.cli.policy.question import ORIGINS, OUTCOMES, PROFILES, ROLES
from pegboard.config.schema import check
from pegboard.contracts.errors import UsageError
from pegboard.host.supposed_caller import Question

_TEXT: Final = {"type": "string", "minLength": 1}
_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["expect"],
    "properties": {
        "expect": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["tool", "outcome"],
                "properties": {
                    "tool": _TEXT,
                    "call": {"type": "object"},
                    "as": {"enum": list(ROLES)},
                    "from": {"enum": list(ORIGINS)},
                    "channel": _TEXT,
                    "sender": _TEXT,
                    "agent": _TEXT,
                    "profile": {"enum": list(PROFILES)},
                    "outcome": {"enum": list(OUTCOMES)},
                    "rule": _TEXT,
                },
            },
        },
    },
}
_ASKED: Final = {
    "as": "role",
    "from": "origin",
    "channel": "channel",
    "sender": "sender",
    "agent": "agent",
    "profile": "profile",
}
"""Key of an expectation -> field of the question."""


class Expectation(NamedTuple):
    """One `[[expect]]`.

    Args:
        tool: Any name of a tool.
        question: Whom it is about.
        call: Arguments of the one call that it is about; None = could some call pass?
        outcome: What they should get.
        rule: The rule that should decide, or None.
        words: All of it in a line, for people.
    """

    tool: str
    question: Question
    call: Mapping[str, Any] | None
    outcome: str
    rule: str | None
    words: str

    def met_by(self, outcome: str, rule: str) -> bool:
        """Tell whether a decision is what was expected; `deny` is met by a hidden tool as well."""
        same = outcome == self.outcome or (self.outcome == "deny" and outcome == "hidden")
        return same and self.rule in (None, rule)


def read_expectations(file: Path) -> list[Expectation]:
    """Read a file of expectations.

    Raises:
        UsageError: When it can't be read, is no TOML, holds a key or a value that does not exist,
            or expects nothing.
    """
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(
            f"{file} can't be read: {error.strerror}", fix="pegboard policy check FILE"
        ) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file} can't be read: {error}", fix=f"mend {file}") from error
    problems = check(data, _SCHEMA, "")
    if problems:
        raise UsageError(f"{file}: {problems[0].message}", fix=f"mend {file}")
    if not data["expect"]:
        raise UsageError(f"{file} expects nothing.", fix="add a table [[expect]]")
    return [_expectation(table) for table in data["expect"]]


def _expectation(table: Mapping[str, Any]) -> Expectation:
    asked = {field: table[key] for key, field in _ASKED.items() if key in table}
    called = [f"with {json.dumps(table['call'])}"] if "call" in table else []
    words = [table["tool"], *called, *(f"{key} {table[key]}" for key in _ASKED if key in table)]
    return Expectation(
        tool=table["tool"],
        question=Question(**asked),
        call=table.get("call"),
        outcome=table["outcome"],
        rule=table.get("rule"),
        words=" ".join(words),
    )
