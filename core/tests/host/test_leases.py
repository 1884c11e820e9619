"""Runs that another run starts, and runs that nobody attends, hold a lease."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from pegboard import Plugin, RunSpec, ToolContext
from pegboard.store.audit_log import records
from pegboard.store.sqlite import FILE_NAME, open_for_reading
from pegboard.testing import Call, HostFactory, ScriptedModel

pytestmark = pytest.mark.anyio

boss = Plugin(summary="Has others work")


@boss.tool(effects={"read"})
async def delegate(ctx: ToolContext, ask_for: str) -> str:
    """Start a run."""
    wanted = None if ask_for == "all" else tuple(ask_for.split())
    result = await ctx.runs.start(RunSpec(prompt="work", capabilities=wanted, without=()))
    return f"{result.status}: {result.text}"


@boss.tool(effects={"read"}, capability="orch:message")
async def tell(ctx: ToolContext) -> str:
    """Tell what the run holds, as far as a tool can see."""
    return "told by " + ("a lease" if ctx.caller.lease else "the profile")


@boss.tool(effects={"read"})
async def look(ctx: ToolContext) -> str:
    """Look."""
    return "seen"


@boss.tool(effects={"state_write"}, control="config")
async def set_option(ctx: ToolContext) -> str:
    """Change the configuration."""
    return "changed"


INLINE = {"boss": boss}


def results(model: ScriptedModel) -> str:
    """Return all that tools answered."""
    return "\n".join(
        result.text
        for request in model.requests
        for message in request.messages
        for result in message.results
    )


async def test_a_run_that_another_one_starts_holds_what_it_asked_for(host: HostFactory):
    for wanted, expected in (("all", "told by a lease"), ("orch:read", "orch:message")):
        model = ScriptedModel(
            [Call("delegate", ask_for=wanted), Call("tell"), "child done", "done"]
        )
        async with host(inline=INLINE, model=model) as world:
            outcome = await world.ask("go")
            assert outcome.text == "done"
            assert expected in results(model)
            assert "done: child done" in results(model)
            assert not world.host.dispatcher.policy.leases.live


async def test_without_the_capability_no_run_is_started(host: HostFactory):
    async with host(inline=INLINE, config={"autonomy.profile": "assistant"}) as world:
        answer = await world.call("delegate", ask_for="all")
        assert answer.error is not None
        assert answer.error.code == "capability_denied"
        refused = await world.call("tell")
        assert refused.error is not None
        assert refused.error.code == "capability_denied"
        assert 'profile = "standard"' in (refused.error.fix or "")
        verdict = world.host.why("tell", world.host.local_caller())
        assert verdict.rule == "capability.message"
    async with host(inline=INLINE) as world:
        assert "told by the profile" in (await world.call("tell")).text


UNATTENDED = {
    "autonomy.profile": "unattended",
    "autonomy.denial_breaker": 2,
    "tools.excluded": ["set_option"],
}


async def test_an_unattended_run_is_aborted_after_refusals_in_a_row(host: HostFactory):
    script = [Call("set_option"), [Call("set_option"), Call("look")], Call("look"), "never said"]
    model = ScriptedModel(script)
    async with host(inline=INLINE, model=model, config=UNATTENDED) as world:
        outcome = await world.ask("go")
        assert outcome.status == "failed"
        assert outcome.error is not None
        assert outcome.error["code"] == "denial_breaker"
        assert "too many tool calls in a row were refused" in outcome.error["message"]
        assert "pegboard audit list" in outcome.error["fix"]
        assert outcome.steps == 2
        assert len(model.requests) == 2
        assert not world.host.dispatcher.policy.leases.live
    events = [event for event in audited(world.home) if event["rule"] == "denial_breaker"]
    assert [event["tool"] for event in events if not event["tool"]] == [""]
    assert {event["tool"] for event in events} == {"", "boss:look"}


async def test_a_run_that_is_allowed_something_between_goes_on(host: HostFactory):
    script = [Call("set_option"), Call("look"), Call("set_option"), Call("look"), "done"]
    model = ScriptedModel(script)
    async with host(inline=INLINE, model=model, config=UNATTENDED) as world:
        assert (await world.ask("go")).text == "done"


async def test_refusals_of_a_child_abort_the_run_that_started_it(host: HostFactory):
    model = ScriptedModel(
        [
            Call("delegate", ask_for="all"),
            Call("set_option"),
            Call("set_option"),
            Call("look"),
            "never said",
        ]
    )
    async with host(inline=INLINE, model=model, config=UNATTENDED) as world:
        outcome = await world.ask("go")
    assert outcome.error is not None
    assert outcome.error["code"] == "denial_breaker"
    assert "failed" in results(model)


def audited(home):
    with closing(open_for_reading(home / "state" / FILE_NAME)) as connection:
        return [json.loads(record.event) for record in records(connection)]


async def test_the_control_plane_is_for_the_person_here_and_not_for_what_it_delegates(
    host: HostFactory,
):
    model = ScriptedModel(
        [
            Call("set_option"),
            Call("delegate", ask_for="all"),
            Call("set_option"),
            "no",
            "done",
        ]
    )
    async with host(inline=INLINE, model=model) as world:
        await world.ask("go")
        found = results(model)
        assert "changed" in found
        assert "only an admin's own turn" in found
