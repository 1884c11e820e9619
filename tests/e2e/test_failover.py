"""Three providers on the wire stand in for each other: one that limits, one that breaks off, and a
real model on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from counterparts import Chaos, Llama
from counterparts.places import no_llama, no_llmock

from pegboard import Plugin
from pegboard.contracts.stream import Noticed, TextRestarted
from pegboard.testing import HostFactory

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def counterparts_are_there() -> Iterator[None]:
    """Fail, and do not skip, where the whole suite has to run."""
    reason = no_llmock() or no_llama()
    if reason is not None and os.environ.get("PEGBOARD_CI"):
        pytest.fail(reason)
    yield


def chain(chaos: Chaos, llama: Llama, **more: Any) -> dict[str, Any]:
    """Return settings with the three: the model can call no tools, so small is it."""
    usual = {"type": "openai-compatible"}
    there = {**usual, "server": "other", "base_url": f"{chaos.url}/v1"}
    local = {**usual, "server": "llamacpp", "base_url": f"{llama.url}/v1"}
    return {
        "providers.limits": there,
        "providers.breaks": there,
        "providers.local": {**local, "tools": False},
        "agent.provider": "limits",
        "agent.model": "gpt-4o",
        "agent.fallbacks": ["breaks/gpt-4o", "local"],
        **more,
    }


def counting(runs: list[str], after: Callable[[], None] = lambda: None) -> Plugin:
    """Return a plugin whose tool notes each of its runs, and then lets something happen."""
    plugin = Plugin(summary="Counts")

    @plugin.tool(effects={"read"}, outside=False)
    def count(what: str) -> str:
        """Count things.

        Args:
            what: The things.
        """
        runs.append(what)
        after()
        return "7"

    return plugin


LIMIT = {"type": "fail", "status": 429, "retry_after": 1_800}
CALL = {"name": "count", "arguments": {"what": "files"}}


async def test_the_local_model_answers_after_a_limit_and_a_broken_answer(
    host: HostFactory, chaos: Chaos, llama: Llama
) -> None:
    runs: list[str] = []
    # what breaks off had already streamed text, and a call that looks complete
    chaos.behave(LIMIT, {"type": "reply", "text": "I shall count", "tool_calls": [CALL]})
    chaos.behave({"type": "stream_fault", "kind": "truncate", "after_chunks": 6})
    async with host(
        "provider-openai", inline={"counts": counting(runs)}, config=chain(chaos, llama)
    ) as world:
        outcome = await world.ask("Say hello.")
        recorder = world.recorder
    assert (outcome.status, runs) == ("done", [])
    assert [request["status"] for request in chaos.requests()] == [429, 200]
    assert len(recorder.of(TextRestarted)) == 1
    assert outcome.text == recorder.text.strip() != ""
    codes = [event.code for event in recorder.of(Noticed)]
    assert codes.count("failover") == 2


async def test_in_the_middle_of_a_run_it_goes_on_and_no_tool_runs_twice(
    host: HostFactory, chaos: Chaos, llama: Llama
) -> None:
    runs: list[str] = []

    def break_down() -> None:
        chaos.behave(LIMIT, {"type": "reply", "text": "one two three four five six seven eight"})
        chaos.behave({"type": "stream_fault", "kind": "disconnect", "after_chunks": 6})

    chaos.behave({"type": "reply", "tool_calls": [CALL]})
    config = chain(chaos, llama, **{"agent.failover_mid_run": True})
    inline = {"counts": counting(runs, break_down)}
    async with host("provider-openai", inline=inline, config=config) as world:
        outcome = await world.ask("How many files are there?")
        recorder = world.recorder
    assert (outcome.status, runs) == ("done", ["files"])
    assert outcome.text == recorder.text.strip() != ""
    assert len(recorder.of(TextRestarted)) == 1
    asked = [json.dumps(request["body"]) for request in chaos.requests()]
    assert "files" in asked[-1], "what was done before goes along"
