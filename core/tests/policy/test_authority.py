"""What a run lacks is told with what would mend it, or with what to do instead."""

from __future__ import annotations

from pegboard.contracts.caller import Caller
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.policy.authority import lacking
from pegboard.policy.capabilities import STANDARD
from pegboard.policy.snapshot import PolicySnapshot

OWNER = Caller(trust="operator", origin="person")


def tool(capability):
    return RegisteredTool(ToolSpec(name="t", effects=frozenset(), capability=capability), "p")


def test_delegated_work_is_told_that_it_starts_no_further_runs():
    refused = lacking(PolicySnapshot(capabilities=STANDARD), OWNER.narrow(), tool("orch:spawn"))
    assert refused is not None
    assert refused.rule == "capability.spawn"
    assert "delegated work (depth 1) may not" in refused.reason
    assert "profile" not in (refused.fix or "")


def test_a_run_of_the_owners_own_is_told_which_line_gives_it_what_it_lacks():
    refused = lacking(PolicySnapshot(), OWNER, tool("orch:spawn"))
    assert refused is not None
    assert "needs the capability orch:spawn" in refused.reason
    assert 'profile = "standard"' in (refused.fix or "")


def test_delegated_work_that_lacks_something_else_is_told_what():
    refused = lacking(PolicySnapshot(), OWNER.narrow(), tool("orch:cron"))
    assert refused is not None
    assert (refused.rule, "orch:cron" in refused.reason) == ("capability.cron", True)
