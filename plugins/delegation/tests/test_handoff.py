"""Handing a conversation over to another agent."""

from __future__ import annotations

import pytest

from pegboard import Handoff
from pegboard.testing import HostFactory, ScriptedModel

pytestmark = pytest.mark.anyio

CONFIG = {
    "agents.main.delegates": ["research", "digger"],
    "agents.research.description": "Finds sources",
    "agents.digger.role": "sub",
}


async def test_it_names_the_agent_that_goes_on(host: HostFactory):
    async with host("delegation", config=CONFIG) as world:
        result = await world.call("handoff", agent="research", message="Wants sources.")
        assert result.error is None
        assert result.control == Handoff("research", "Wants sources.")


@pytest.mark.parametrize("agent", ["reserch", "digger", "main", ""])
async def test_only_an_agent_that_talks_and_is_a_delegate_goes_on(host: HostFactory, agent: str):
    async with host("delegation", config=CONFIG) as world:
        result = await world.call("handoff", agent=agent)
        assert result.error is not None
        assert result.error.code == "not_found"
        assert result.error.fix == "Hand over to one of: research."
        assert result.control is None


async def test_who_has_nobody_to_hand_over_to_is_not_offered_to(host: HostFactory):
    model = ScriptedModel(["hello"], repeat=True)
    async with host("delegation", model=model) as world:
        assert world.host.why("handoff", world.host.local_caller()).rule == "filter.no_heir"
        result = await world.call("handoff", agent="research")
        assert result.error is not None
        assert result.error.code == "not_found"
