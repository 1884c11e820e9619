from __future__ import annotations

import pytest

from pegboard.contracts.turn import CallRecord
from pegboard.turns.calls_in_flight import more_about, tool_names


@pytest.mark.parametrize(
    ("names", "command"),
    [
        ([], "pegboard logs"),
        (["core:tool_search"], "pegboard logs"),
        (["core:tool_search", "shell:shell"], "pegboard plugins why shell"),
    ],
)
def test_who_was_at_work_last_is_asked_about(names: list[str], command: str) -> None:
    calls = [CallRecord(id=name, kind="tool", name=name) for name in names]
    assert more_about(calls) == command


def test_a_tool_is_named_once_without_its_plugin() -> None:
    calls = [
        CallRecord(id=str(at), kind="tool", name=name)
        for at, name in enumerate(("a:x", "b:y", "a:x"))
    ]
    assert tool_names(calls) == "x and y"
