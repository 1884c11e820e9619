"""Rules about presence that the table of turns does not tell apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pegboard.contracts.caller import Caller
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.policy.attended import unmet

TOOL = RegisteredTool(ToolSpec(name="t", effects=frozenset({"read"})), "p", name="t")
ULTRA = Caller(trust="operator", origin="person", run_profile="ultra")


@pytest.mark.parametrize(
    ("caller", "holds"),
    [
        (ULTRA, True),
        (replace(ULTRA, trust="guest"), False),
        (replace(ULTRA, trust=None), False),
        (replace(ULTRA, depth=1), False),
        (replace(ULTRA, depth=-1), False),
        (replace(ULTRA, run_profile=""), False),
        (ULTRA.narrow(), False),
    ],
)
def test_only_the_turn_that_the_owner_began_so_is_ultra(caller, holds):
    assert (unmet("ultra", caller, TOOL) is None) is holds
