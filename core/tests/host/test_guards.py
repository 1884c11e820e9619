"""Guards in a real host: they only narrow, and one that can't judge denies."""

from __future__ import annotations

import itertools

import pytest

from pegboard import Ask, Deny, Plugin
from pegboard.contracts.caller import Caller
from pegboard.testing import ScriptedModel

pytestmark = pytest.mark.anyio

OPERATOR = Caller(trust="operator", admin=True, origin="person", attended=True, live_reply=True)
GUEST = Caller(trust="guest", origin="person", attended=True, live_reply=True)

HEAD = """
import anyio
from pegboard import Ask, Deny, Needs, Plugin

plugin = Plugin()
"""
GUARD = """

@plugin.hook
async def pegboard_tool_guard(event):
    {body}


@plugin.hook
async def pegboard_message_guard(event):
    {body}
"""
ECHO = """
from pegboard import Plugin

plugin = Plugin()

@plugin.tool(effects={"read"})
def echo(text: str = "") -> str:
    "Return the text."
    return "ran: " + text
"""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise RuntimeError('broken')", "RuntimeError: broken"),
        ("raise SystemExit(3)", "SystemExit"),
        ("await anyio.sleep_forever()", "no answer within 0.1 s"),
        ("import time; time.sleep(0.15)", "no answer within 0.1 s"),
        ("return True", "it returned bool"),
        ("return Ask(3)", "without a text"),
        ("return Deny(None)", "without a text"),
    ],
)
async def test_a_guard_that_can_not_judge_denies_and_names_what_disables_it(
    installation, body, words
):
    installation.install("echo", code=ECHO)
    installation.install("warden", code=HEAD + GUARD.format(body=body))
    config = {"hooks.timeout_s": 0.1}
    async with installation.host(config) as host:
        result = await host.call_tool("echo", {}, OPERATOR)
        assert result.error is not None
        assert result.error.code == "denied"
        assert words in result.error.message
        assert result.error.fix == "pegboard plugins disable warden"
    async with installation.host({**config, "plugins.disabled": ["warden"]}) as host:
        assert "ran:" in (await host.call_tool("echo", {}, OPERATOR)).text


@pytest.mark.parametrize(
    ("plugin", "config", "state"),
    [
        ('Plugin(api=">=9")', {}, "incompatible"),
        ("Plugin()", {"plugins.warden": {"nothing": 1}}, "misconfigured"),
        ('Plugin(needs=Needs(plugins=("gone",)))', {}, "missing-need"),
    ],
)
async def test_a_guard_that_can_not_be_loaded_denies_unless_it_is_disabled(
    installation, plugin, config, state
):
    installation.install("echo", code=ECHO)
    code = HEAD.replace("Plugin()", plugin) + GUARD.format(body="return None")
    installation.install("warden", code=code)
    await denies_unless_disabled(installation, config, state)


async def test_a_guard_whose_import_fails_denies_unless_it_is_disabled(installation):
    installation.install("echo", code=ECHO)
    dist = installation.install("warden", code=HEAD + GUARD.format(body="return None"))
    dist.code.write_text("import no_such_library\n", encoding="utf-8")  # after it was built
    await denies_unless_disabled(installation, {}, "failed")


async def denies_unless_disabled(installation, config, state):
    async with installation.host(config) as host:
        for _ in range(2):  # the first call may be what finds out that it can't be imported
            result = await host.call_tool("echo", {}, OPERATOR)
            assert result.error is not None
            assert result.error.code == "denied"
            assert result.error.fix == "pegboard plugins disable warden"
        assert host.activator.record("warden").state.value == state
    async with installation.host({"plugins.disabled": ["warden"]}) as host:
        assert "ran:" in (await host.call_tool("echo", {}, OPERATOR)).text


def guarding(*answers):
    """Return plugins, each with a guard that has one answer to everything."""
    return {f"guard-{number}": _guard(answer) for number, answer in enumerate(answers)}


def _guard(answer):
    plugin = Plugin()

    @plugin.hook
    def pegboard_tool_guard(event):
        return answer

    return plugin


kit = Plugin(summary="Tools of all kinds")


@kit.tool(effects={"read"})
async def plain(text: str = "") -> str:
    """Run."""
    return "ran"


@kit.tool(effects={"read"}, audience="owner")
async def diary(text: str = "") -> str:
    """Run."""
    return "ran"


@kit.tool(effects={"state_write"}, control="config")
async def configure(text: str = "") -> str:
    """Run."""
    return "ran"


STRICTNESS = {None: 0, "ask": 1, "deny": 2}
ANSWERS = {None: None, "ask": Ask("Really?"), "deny": Deny("never")}


def outcome(result):
    if result.error is None:
        return 0
    return 1 if result.error.code == "needs_approval" else 2


@pytest.mark.parametrize(
    "names", list(itertools.combinations_with_replacement(ANSWERS, 2)), ids=str
)
async def test_the_outcome_is_the_strictest_of_the_gate_and_of_all_guards(host, names):
    callers = {
        "admin": OPERATOR,
        "operator": Caller(trust="operator", origin="person", attended=True, live_reply=True),
        "guest": GUEST,
    }
    inline = {"kit": kit, **guarding(*(ANSWERS[name] for name in names))}
    async with host(inline=inline, config={"policy.guest_tools": ["kit:plain"]}) as world:
        for tool, (who, caller) in itertools.product(
            ("plain", "diary", "configure", "nothing"), callers.items()
        ):
            alone = 2
            if tool != "nothing":
                alone = int(world.host.why(tool, caller).outcome)
            result = await world.host.call_tool(tool, {}, caller)
            wanted = max(alone, *(STRICTNESS[name] for name in names))
            if who == "guest" and wanted == 1:
                wanted = 2  # a guest can't agree to what a guard asks of the owner
            assert outcome(result) == wanted, (tool, who, names)
            assert ("ran" in result.text) is (wanted == 0)


async def test_a_guard_is_not_even_asked_about_what_the_gate_refuses(host):
    seen = []
    watching = Plugin()

    @watching.hook
    def pegboard_tool_guard(event):
        seen.append(event.tool.spec.name)

    async with host(inline={"kit": kit, "watching": watching}) as world:
        await world.host.call_tool("diary", {}, GUEST)
        await world.host.call_tool("plain", {}, OPERATOR)
    assert seen == ["plain"]


@pytest.mark.parametrize("failing", ["crash", "load"])
async def test_a_message_that_nobody_could_judge_gets_no_answer_of_the_model(host, failing):
    broken = Plugin()

    @broken.hook
    def pegboard_message_guard(event):
        raise RuntimeError("broken")

    config = {"plugins.broken": {"nothing": 1}} if failing == "load" else {}
    model = ScriptedModel(["never said"])
    async with host(inline={"broken": broken}, model=model, config=config) as world:
        told = await world.ask("hello")
    assert (told.status, told.error["code"]) == ("failed", "denied")
    assert told.error["fix"] == "pegboard plugins disable broken"
    assert model.requests == []
