"""The wider bounds of a turn that the owner began with /ultra."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pegboard_delegation.caps import ULTRA, USUAL

from pegboard.contracts.caller import Caller

pytestmark = pytest.mark.anyio


def ultra(caller: Caller) -> Caller:
    return replace(caller, run_profile="ultra")


async def test_the_caps_are_those_that_were_agreed():
    assert (USUAL.tasks, USUAL.at_once, USUAL.most_at_once) == (10, 4, 8)
    assert (USUAL.steps, USUAL.result_bytes) == (100, 60_000)
    assert (ULTRA.tasks, ULTRA.at_once, ULTRA.most_at_once) == (50, 12, 12)
    assert (ULTRA.steps, ULTRA.result_bytes) == (40, 300_000)


async def test_many_workers_are_for_that_one_turn(office):
    tasks = [{"goal": f"part {number}"} for number in range(50)]
    async with office(lambda task: f"found {task}") as here:
        host = here.running.host
        refused = await here.call("subagents_ultra", tasks=tasks)
        assert refused.error is not None
        assert "began with /ultra" in refused.error.message
        assert here.asked == []
        who = ultra(host.local_caller())
        results = await here.results("subagents_ultra", tasks=tasks, caller=who)
        assert [item["output"] for item in results] == [f"found part {n}" for n in range(50)]
        offered = {tool.name for tool in here.model.requests[0].tools}
        assert "subagents_ultra" not in offered
        over = await here.call("subagents_ultra", tasks=[*tasks, {"goal": "x"}], caller=who)
        assert over.error is not None
        assert over.error.code == "invalid_arguments"


async def test_it_is_offered_in_that_turn_only(office):
    async with office(lambda task: "ok") as here:
        host = here.running.host
        for caller, expected in (
            (host.local_caller(), False),
            (ultra(host.local_caller()), True),
            (ultra(host.local_caller(as_guest=True)), False),
        ):
            scope = await host._parts.spaces.scope(caller, run="r")
            offered = {tool.wire_name for tool in host.dispatcher.offered(caller, scope)}
            assert ("subagents_ultra" in offered) is expected


async def test_a_hundred_thousand_bytes_are_read_whole(office):
    tasks = [{"goal": f"{number}"} for number in range(50)]
    async with office(lambda task: "x" * 10_000) as here:
        who = ultra(here.running.host.local_caller())
        result = await here.call("subagents_ultra", tasks=tasks, caller=who)
        lengths = [len(item["output"]) for item in result.structured["results"]]
        assert lengths == [6_000] * 50
        assert "characters" not in result.text[-500:]
        assert len(result.text) > 300_000
