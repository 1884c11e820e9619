from __future__ import annotations

import pytest

from pegboard import Command


@pytest.mark.parametrize(
    ("vetted", "effects", "lacks"),
    [
        (False, {"read"}, True),
        (False, {"read", "exec"}, False),
        (True, {"read"}, False),
        (True, set(), False),
    ],
)
def test_only_a_command_that_a_model_writes_needs_exec(
    vetted: bool, effects: set, lacks: bool
) -> None:
    assert Command(argv=("true",), vetted=vetted).lacks_exec(frozenset(effects)) is lacks
