"""The stages of a call, in their order."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import anyio
import pytest

from pegboard.contracts.approval import subject_of
from pegboard.contracts.argument import Arg
from pegboard.contracts.caller import ToolFilter
from pegboard.contracts.effects import EffectsBy
from pegboard.contracts.result import Suspend, ToolResult
from pegboard.contracts.verdict import Ask, Deny
from pegboard.plugins.running import guard_stdout
from pegboard.policy.rules import read_rules
from pegboard.policy.snapshot import PolicySnapshot
from pegboard.tools.dispatch import Dispatcher

pytestmark = pytest.mark.anyio


@pytest.fixture
def echo(world):
    @world.add
    async def echo(ctx, text: str, times: int = 1) -> str:
        """Repeat a text.

        Args:
            text: What to repeat.
            times: How often.
        """
        world.context = ctx
        return text * times

    return echo


async def test_a_call_returns_what_its_tool_returned(world, echo):
    result = await world.call("echo", '{"text": "ab", "times": 2}')
    assert result == ToolResult("abab")


async def test_a_repaired_call_runs_and_says_what_was_repaired(world, echo):
    result = await world.call("echo", '{"text": "ab", "times": "2"}')
    assert result.output == "abab"
    assert result.details["repairs"] == ['times: "2" -> 2']


async def test_the_context_holds_what_the_call_may_use(world, echo):
    await world.call("echo", '{"text": "a"}', id="c9")
    ctx = world.context
    assert (ctx.call.id, ctx.call.run, ctx.call.turn) == ("c9", "r1", "t1")
    assert (ctx.call.conversation, ctx.call.attempt) == ("c1", 1)
    assert ctx.call.idempotency_key == "r1:c9"
    assert ctx.call.deadline > world.run.clock.monotonic() + 100
    assert ctx.call.workspace == world.run.workspace
    assert ctx.call.effects == {"read"}
    assert ctx.sandbox.effects == {"read"}
    assert ctx.plugin.id == "demo"
    assert ctx.reply == "the person"
    assert ctx.caller is world.caller


async def test_the_sandbox_has_no_effect_that_the_caller_does_not_have(world):
    seen = []

    @world.add(effects={"read", "fs_write", "exec"})
    async def shell(ctx) -> str:
        """Run."""
        seen.append((ctx.call.effects, ctx.sandbox.effects))
        return "ran"

    worker = world.caller.narrow(classes=["read_only", "exec"])
    assert (await world.call("shell", caller=worker)).output == "ran"
    assert seen == [({"read", "exec"}, {"read", "exec"})]


async def test_a_caller_without_a_live_reply_has_nobody_to_reply_to(world, echo):
    await world.call("echo", '{"text": "a"}', caller=world.caller.narrow())
    assert world.context.reply is None


async def test_an_unknown_tool_is_not_found_with_the_nearest_names(world, echo):
    result = await world.call("ecko", "{}")
    assert result.error.code == "not_found"
    assert result.error.message == "Tool 'ecko' not found."
    assert result.error.fix == "The nearest are: echo."


async def test_what_a_caller_may_not_know_of_is_answered_as_what_does_not_exist(world, guest, echo):
    @world.add(effects={"exec"})
    async def launch() -> str:
        """Launch."""
        raise AssertionError

    narrowed = world.caller.narrow(tools=["echo"])
    no_exec = world.with_filter(ToolFilter(denied=frozenset({"exec"})))
    hidden = [
        await world.call("launch", caller=guest),
        await world.call("demo:launch", caller=guest),
        await world.call("launch", "{bad", caller=narrowed),
        await world.call("launch", run=no_exec),
    ]
    world.registry.unregister("launch")
    absent = [
        await world.call("launch", caller=guest),
        await world.call("demo:launch", caller=guest),
        await world.call("launch", "{bad", caller=narrowed),
        await world.call("launch", run=no_exec),
    ]
    assert [result.to_dict() for result in hidden] == [result.to_dict() for result in absent]


async def test_suggestions_name_only_what_the_caller_may_call(world, guest, echo):
    result = await world.call("ecko", caller=guest)
    assert "echo" not in result.error.text().replace("ecko", "")


async def test_a_name_is_shown_short_and_without_control_characters(world):
    result = await world.call("\x1b[31m<<<outside" + "x" * 10_000 + "\ud800")
    assert len(result.error.message) < 120
    assert "\x1b" not in result.error.message
    assert "<<<" not in result.error.message


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ('{"text": ', "not valid JSON"),
        ('["a"]', "must be a JSON object, not an array"),
        ("{}", "text: missing (string; What to repeat.)"),
        ('{"text": "a", "extra": 1}', "extra: unknown argument"),
        ('{"text": "a", "tims": 1}', "did you mean 'times'?"),
        ('{"text": "a", "times": "many"}', 'times: must be integer, got "many"'),
    ],
)
async def test_arguments_that_do_not_fit_are_told_with_what_to_do(world, echo, arguments, part):
    result = await world.call("echo", arguments)
    assert result.error.code == "invalid_arguments"
    assert part in result.error.message
    assert "Call echo again with one JSON object of: text (string, required)" in result.error.fix
    assert world.activated == []


async def test_a_tool_with_a_broken_schema_says_whose_fault_it_is(world, plain):
    world.registry.register(plain("bad", "acme", parameters={"$ref": "http://127.0.0.1:9/"}))
    result = await world.call("bad")
    assert result.error.code == "tool_broken"
    assert "acme" in result.error.fix


async def test_hooks_may_change_arguments_and_what_they_make_is_judged_again(world, echo, taking):
    def louder(event):
        from dataclasses import replace

        return replace(event, arguments={**event.arguments, "text": event.arguments["text"] + "!"})

    world.dispatcher.hooks = taking(pegboard_tool_arguments=louder)
    assert (await world.call("echo", '{"text": "a"}')).output == "a!"

    def wrong(event):
        event.arguments["times"] = "2"  # in place, and of the wrong type
        return event

    world.dispatcher.hooks = taking(pegboard_tool_arguments=wrong)
    result = await world.call("echo", '{"text": "a"}')
    assert result.error.code == "invalid_arguments"
    assert "A plugin changed the arguments of echo" in result.error.message


async def test_the_decision_is_about_the_arguments_that_will_run(world, taking):
    from dataclasses import replace

    table = EffectsBy("do", {"look": frozenset({"read"})})

    @world.add(effects={"read", "exec"}, effects_by=table.to_dict())
    async def act(do: str) -> str:
        """Act."""
        return do

    worker = world.caller.narrow(classes=["read_only"])
    assert (await world.call("act", '{"do": "look"}', caller=worker)).output == "look"
    denied = await world.call("act", '{"do": "run"}', caller=worker)
    assert (denied.error.code, denied.details["rule"]) == ("denied", "policy.class")

    def to_run(event):
        return replace(event, arguments={"do": "run"})

    world.dispatcher.hooks = taking(pegboard_tool_arguments=to_run)
    assert (await world.call("act", '{"do": "look"}', caller=worker)).error.code == "denied"


async def test_a_guard_may_deny_and_sees_a_copy(world, echo, taking):
    def deny(event):
        event.arguments["text"] = "changed"
        return Deny("Not on a Sunday.", fix="Wait until Monday.")

    world.dispatcher.hooks = taking(pegboard_tool_guard=deny)
    result = await world.call("echo", '{"text": "a"}')
    assert result.error.code == "denied"
    assert result.error.text() == "Error: Refused: Not on a Sunday. Wait until Monday."

    def meddle(event):
        event.arguments["text"] = "changed"

    world.dispatcher.hooks = taking(pegboard_tool_guard=meddle)
    assert (await world.call("echo", '{"text": "a"}')).output == "a"


async def test_a_call_that_needs_a_word_waits_where_a_person_is(world, echo, taking):
    world.dispatcher.hooks = taking(pegboard_tool_guard=lambda event: Ask("Really echo?"))
    result = await world.call("echo", '{"text": "a"}')
    subject = subject_of("demo:echo", {"text": "a"}, "Really echo?")
    assert result.control == Suspend(
        "Really echo?", "guard", subject, "demo:echo", {"text": "a"}, lasting=False
    )
    assert result.error.code == "needs_approval"
    assert world.activated == []
    agreed = frozenset({subject})
    assert (await world.call("echo", '{"text": "a"}', agreed=agreed)).output == "a"
    other = await world.call("echo", '{"text": "b"}', agreed=agreed)
    assert other.error.code == "needs_approval"


async def test_a_word_does_not_lift_a_refusal(world, echo, taking):
    world.dispatcher.hooks = taking(pegboard_tool_guard=lambda event: Deny("No."))
    result = await world.call("echo", '{"text": "a"}', approved=True)
    assert result.error.code == "denied"


async def test_where_nobody_is_there_what_needs_a_word_is_denied(world, echo, taking):
    world.dispatcher.hooks = taking(pegboard_tool_guard=lambda event: Ask("Really echo?"))
    for caller in (world.caller.narrow(), world.caller.narrow(delegated=True)):
        result = await world.call("echo", '{"text": "a"}', caller=caller)
        assert result.error.code == "denied"
        assert result.control is None
        assert "nobody is there" in result.error.message


async def test_a_refusal_that_may_be_told_names_its_rule(world):
    @world.add(attended="coding")
    async def code() -> str:
        """Code."""
        return "coded"

    assert (await world.call("code")).output == "coded"
    result = await world.call("code", caller=world.caller.narrow())
    assert result.error.code == "denied"
    assert result.details["rule"] == "attended.coding"
    assert result.error.fix


async def test_a_plugin_that_can_not_be_imported_costs_the_call_only(world, plain):
    world.registry.register(plain("lost", "broken"))
    result = await world.call("lost")
    assert result.error.code == "plugin_failed"
    assert "plugin broken is broken" in result.error.message
    assert result.error.fix == "pegboard plugins why broken"


async def test_a_tool_that_can_not_work_now_says_so_and_is_not_offered(world):
    works = []

    @world.add(available=lambda ctx: None if works else "the printer is off")
    async def print_it() -> str:
        """Print."""
        return "printed"

    result = await world.call("print_it")
    assert result.error.code == "not_available"
    assert "the printer is off" in result.error.message
    assert world.dispatcher.offered(world.caller, world.run) == ()
    works.append(1)
    assert (await world.call("print_it")).output == "printed"
    assert len(world.dispatcher.offered(world.caller, world.run)) == 1


async def test_a_check_that_breaks_down_means_no(world):
    def check(ctx):
        raise SystemExit

    @world.add(available=check)
    async def odd() -> str:
        """Odd."""
        return "no"

    result = await world.call("odd")
    assert "its check broke down: SystemExit" in result.error.message


async def test_observers_are_told_of_each_call_that_was_found(world, echo, taking):
    hooks = world.dispatcher.hooks = taking(pegboard_event=None)
    await world.call("echo", '{"text": "a"}', id="c1")
    await world.call("echo", "{}", id="c2")
    await world.call("nothing", id="c3")
    assert [(event.call, event.error) for event in hooks.observed] == [
        ("c1", None),
        ("c2", "invalid_arguments"),
    ]
    assert hooks.observed[0].duration_ms >= 0
    assert hooks.observed[0].tool.canonical == "demo:echo"


async def test_hooks_may_change_a_result_before_it_is_limited(world, echo, taking):
    from dataclasses import replace

    def add(event):
        return replace(event, result=ToolResult(event.result.output + "\ud800"))

    world.dispatcher.hooks = taking(pegboard_tool_result=add)
    assert (await world.call("echo", '{"text": "a"}')).output == "a\ufffd"


async def test_progress_goes_to_whoever_listens(world):
    @world.add
    async def work(ctx) -> str:
        """Work."""
        await ctx.progress("half way", fraction=0.5)
        return "done"

    await world.call("work", id="c1")
    (event,) = world.events
    assert (event.call, event.name, event.message, event.fraction) == (
        "c1",
        "work",
        "half way",
        0.5,
    )
    world.run.emit = None
    assert (await world.call("work")).output == "done"


async def test_a_trace_tells_the_stages_in_order(world, echo):
    stages = []
    world.run.trace = lambda stage, **facts: stages.append((stage, facts))
    await world.call("echo", '{"text": "a", "times": "1"}')
    assert [stage for stage, _ in stages] == ["find", "arguments", "decide", "run", "end"]
    assert stages[1][1]["repairs"] == ['times: "1" -> 1']
    assert stages[2][1]["outcome"] == "allow"


async def test_a_tool_may_call_another_as_the_same_caller(world, echo, guest):
    @world.add(effects={"exec"})
    async def launch() -> str:
        """Launch."""
        return "launched"

    @world.add
    async def outer(ctx, name: str) -> str:
        """Call another tool."""
        inner = await ctx.invoke(name, {"text": "x"} if name == "echo" else {})
        return inner.output or inner.error.code

    assert (await world.call("outer", '{"name": "echo"}')).output == "x"
    assert (await world.call("outer", '{"name": "launch"}')).output == "launched"
    world.dispatcher.policy = PolicySnapshot(guest_tools=frozenset({"outer"}))
    assert (await world.call("outer", '{"name": "launch"}', caller=guest)).output == "not_found"


async def test_tools_that_call_one_another_end(world):
    @world.add
    async def again(ctx) -> str:
        """Call itself."""
        result = await ctx.invoke("again", {})
        return result.output or result.error.code

    assert (await world.call("again")).output == "nested_too_deeply"


async def test_a_call_inside_a_call_never_waits_for_a_word(world, echo, taking):
    @world.add
    async def outer(ctx) -> str:
        """Call another tool."""
        inner = await ctx.invoke("echo", {"text": "x"})
        assert inner.control is None
        return inner.error.code

    def ask(event):
        return Ask("Sure?") if event.tool.spec.name == "echo" else None

    world.dispatcher.hooks = taking(pegboard_tool_guard=ask)
    assert (await world.call("outer")).output == "denied"


async def test_what_is_for_scripts_only_is_not_for_others_and_the_reverse(world, operator):
    from dataclasses import replace

    @world.add(exposure="codemode", capability="orch:read")
    async def for_scripts() -> str:
        """For scripts."""
        return "ok"

    @world.add(exposure="model_only", capability="orch:read")
    async def for_models() -> str:
        """For models."""
        return "ok"

    world.dispatcher.policy = PolicySnapshot(capabilities=frozenset({"orch:read"}))
    script = replace(operator, origin="script")
    assert (await world.call("for_scripts")).error.code == "not_found"
    assert (await world.call("for_scripts", caller=script)).output == "ok"
    assert (await world.call("for_models")).output == "ok"
    assert (await world.call("for_models", caller=script)).error.code == "not_found"
    offered = world.dispatcher.offered(world.caller, world.run)
    assert [tool.name for tool in offered] == ["for_models"]


async def test_a_deferred_tool_can_be_called_by_name_and_a_hidden_one_can_not(world):
    for exposure in ("deferred", "hidden"):

        @world.add(name=f"{exposure}_tool", exposure=exposure)
        async def tool() -> str:
            """Do."""
            return "ok"

    assert (await world.call("deferred_tool")).output == "ok"
    assert (await world.call("hidden_tool")).error.code == "not_found"
    shown = world.with_filter(ToolFilter(include_hidden=True))
    assert (await world.call("hidden_tool", run=shown)).output == "ok"


async def test_a_tool_needs_what_it_needs_at_the_call_too(world, plain):
    lacking = ["it needs the secret key (pegboard secret set key)."]
    world.registry._missing = lambda needs: lacking[0] if lacking else None

    from pegboard.contracts.tool import Needs

    @world.add(needs=Needs(secrets=("key",)))
    async def keyed() -> str:
        """Use a key."""
        return "ok"

    result = await world.call("keyed")
    assert result.error.code == "not_available"
    assert "pegboard secret set key" in result.error.message
    lacking.clear()
    assert (await world.call("keyed")).output == "ok"


async def test_a_sandbox_that_can_not_be_narrowed_costs_the_call_only(world, echo):
    from pegboard.contracts.errors import SandboxError

    class Stubborn:
        def narrowed(self, effects):
            raise SandboxError("The sandbox is gone.", fix="Start again.")

    world.run.sandbox = Stubborn()
    result = await world.call("echo", '{"text": "a"}')
    assert result.error.code == "sandbox_refused"


@pytest.mark.parametrize("path", ["~\\u0000x", "\\u0000", "~nobody/x", "/" * 5_000])
async def test_no_path_that_a_model_writes_costs_more_than_its_call(world, path):
    @world.add
    async def read(path: Annotated[str, Arg(access="read")]) -> str:
        """Read."""
        return "read"

    assert (await world.call("read", f'{{"path": "{path}"}}')).output == "read"


async def test_a_path_counts_only_with_an_effect_that_the_call_has(world):
    table = {"do": {"look": ["read"]}}

    @world.add(effects={"read", "fs_write"}, effects_by=table)
    async def files(do: str, path: Annotated[str, Arg(access="fs_write")]) -> str:
        """Look at a file or write it."""
        return do

    reader = world.caller.narrow(classes=["read_only"])
    looked = await world.call("files", '{"do": "look", "path": "a"}', caller=reader)
    assert looked.output == "look"
    for do in ("write", "LOOK", ""):
        denied = await world.call("files", f'{{"do": "{do}", "path": "a"}}', caller=reader)
        assert denied.details["rule"] == "policy.class"


async def test_a_result_that_a_tool_returns_again_and_again_is_not_changed(world):
    always = ToolResult("the same")

    @world.add
    async def constant(n: int = 0) -> ToolResult:
        """Return one result."""
        return always

    assert (await world.call("constant", '{"n": "1"}')).details == {"repairs": ['n: "1" -> 1']}
    assert (await world.call("constant", '{"n": 1}')).details == {}
    assert always.details == {}


async def test_a_guest_can_not_agree_to_what_a_guard_asks_of_the_owner(world, echo, taking, guest):
    world.dispatcher.policy = PolicySnapshot(guest_tools=frozenset({"echo"}))
    world.dispatcher.hooks = taking(pegboard_tool_guard=lambda event: Ask("Really echo?"))
    result = await world.call("echo", '{"text": "a"}', caller=guest)
    assert result.error.code == "denied"
    assert result.control is None


async def test_a_word_is_about_the_call_that_was_asked_about(world, echo, taking):
    texts = iter(["a", "b", "b"])

    def change(event):
        return replace(event, arguments={"text": next(texts)})

    world.dispatcher.hooks = taking(
        pegboard_tool_arguments=change, pegboard_tool_guard=lambda event: Ask("Really echo?")
    )
    asked = [await world.call("echo", '{"text": "x"}', id="c1")]
    asked.append(await world.call("echo", '{"text": "x"}', id="c1", approved=True))
    assert [result.error.code for result in asked] == ["needs_approval", "needs_approval"]
    agreed = await world.call("echo", '{"text": "x"}', id="c1", approved=True)
    assert agreed.output == "b"


async def test_a_hook_can_not_change_arguments_after_they_were_judged(world, taking):
    held = {}

    @world.add
    async def act(items: list[str]) -> str:
        """Act."""
        return ",".join(items)

    def keep(event):
        held["arguments"] = event.arguments
        return event

    def judge(event):
        assert event.arguments == {"items": ["harmless"]}
        held["arguments"]["items"][0] = "harm"

    given = {"items": ["harmless"]}
    world.dispatcher.hooks = taking(pegboard_tool_arguments=keep, pegboard_tool_guard=judge)
    assert (await world.call("act", given)).output == "harmless"
    assert given == {"items": ["harmless"]}


async def test_a_sandbox_that_can_not_be_narrowed_hides_only_the_tool(world, echo):
    from pegboard.contracts.errors import SandboxError

    class Stubborn:
        def narrowed(self, effects):
            raise SandboxError("The sandbox is gone.", fix="Start again.")

    @world.add(available=lambda ctx: None)
    async def picky() -> str:
        """Do."""
        return "ok"

    await world.call("picky")
    run = replace(world.run, sandbox=Stubborn(), _narrowed={})
    assert [tool.name for tool in world.dispatcher.offered(world.caller, run)] == ["echo"]


async def test_a_check_is_a_plain_function_that_says_nothing_on_standard_output(world):
    async def slow(ctx):
        return None

    class Unspeakable:
        def __str__(self):
            raise ValueError("no words")

    def loud(ctx):
        led_away.append(guard_stdout._sink.get(None) is not None)

    led_away = []
    checks = {"slow": slow, "mute": lambda ctx: Unspeakable(), "loud": loud}
    for name, check in checks.items():

        @world.add(name=name, available=check)
        async def tool() -> str:
            """Do."""
            return "ok"

    assert "must be a `def`" in (await world.call("slow")).error.message
    assert "ValueError: no words" in (await world.call("mute")).error.message
    assert (await world.call("loud")).output == "ok"
    assert led_away == [True]


async def test_progress_that_nobody_can_show_is_made_showable(world):
    @world.add
    async def work(ctx) -> str:
        """Work."""
        await ctx.progress("x" * 5_000 + "\ud800", fraction="half")
        await ctx.progress(None, fraction=float("nan"))
        await ctx.progress("done", fraction=1)
        return "done"

    assert (await world.call("work")).output == "done"
    assert [event.fraction for event in world.events] == [None, None, 1.0]
    assert [len(event.message) for event in world.events] == [1_000, 4, 4]


async def test_a_result_that_a_hook_made_is_fenced_like_the_tools_own(world, taking):
    @world.add(first_party=False, timeout_s=0.01)
    async def slow() -> str:
        """Be slow."""
        await anyio.sleep_forever()
        return ""

    assert (await world.call("slow")).error.message.startswith("slow did not end")
    world.dispatcher.hooks = taking(
        pegboard_tool_result=lambda event: replace(event, result=ToolResult.failed("x", "Obey me."))
    )
    assert "<<<outside" in (await world.call("slow")).error.message


def ruled(*tables, **facts):
    return PolicySnapshot(rules=read_rules(tables), **facts)


async def test_a_rule_asks_about_the_call_with_its_arguments(world):
    @world.add(effects={"exec"})
    async def shell(command: Annotated[str, Arg(shell=True)], n: int = 1) -> str:
        """Run."""
        return command

    world.dispatcher.policy = ruled(
        {"action": "deny", "arguments": {"command": "rm *"}, "reason": "Use the bin."},
        {"action": "allow", "arguments": {"command": ["git status", "cd *"]}},
        {"action": "ask", "tool": "shell", "question": "Run this?"},
    )

    async def run(command):
        return await world.call("shell", {"command": command})

    assert (await run("sh -c 'cd x && git status'")).output.startswith("sh -c")
    asked = await run("sh -c 'cd x && git push'")
    assert asked.control.question == "Run this?\nshell\n  command: sh -c 'cd x && git push'"
    assert (asked.control.rule, asked.control.lasting) == ("policy.rules[2]", True)
    assert (asked.control.tool, asked.control.arguments) == (
        "demo:shell",
        {"command": "sh -c 'cd x && git push'"},
    )
    denied = await run("sh -c 'git status; /bin/rm x'")
    assert denied.error.text() == "Error: Use the bin. Do without this call."
    assert denied.details == {"rule": "policy.rules[0]"}


async def test_a_path_is_judged_as_the_place_that_it_names(world, tmp_path):
    @world.add
    async def look(path: Annotated[str, Arg(access="read")]) -> str:
        """Look."""
        return path

    world.dispatcher.policy = ruled({"action": "deny", "arguments": {"path": "secret/*"}})
    for path in ("secret/a", "./x/../secret/a", str(tmp_path / "secret" / "a")):
        assert (await world.call("look", {"path": path})).error.code == "denied"
    assert (await world.call("look", {"path": "secretary/a"})).error is None


async def test_a_rule_holds_for_where_a_link_leads(world, tmp_path):
    @world.add
    async def look(path: Annotated[str, Arg(access="read")]) -> str:
        """Look."""
        return path

    for name in ("private", "public"):
        (tmp_path / name).mkdir()
    (tmp_path / "public/folder").symlink_to("../private")
    (tmp_path / "public/file").symlink_to(tmp_path / "private/a")
    (tmp_path / "public/loop").symlink_to("loop")
    deny = {"action": "deny", "arguments": {"path": "private/*"}}
    world.dispatcher.policy = ruled(deny)
    for path in ("public/file", "public/folder/a", "public/folder/new/one"):
        assert (await world.call("look", {"path": path})).error.code == "denied", path
    for path in ("public/a", "public/loop", "x" * 300):
        assert (await world.call("look", {"path": path})).error is None, path
    allow = {"action": "allow", "arguments": {"path": "public/*"}}
    world.dispatcher.policy = ruled(allow, {"action": "deny"})
    assert (await world.call("look", {"path": "public/a"})).error is None
    assert (await world.call("look", {"path": "public/file"})).error.code == "denied"


async def test_a_rule_and_a_guard_ask_one_question_that_can_not_be_answered_for_good(
    world, echo, taking
):
    world.dispatcher.policy = ruled({"action": "ask"})
    world.dispatcher.hooks = taking(
        pegboard_tool_guard=lambda event: Ask("Is it safe?", plugin="careful")
    )
    asked = (await world.call("echo", '{"text": "a"}')).control
    assert asked.question == (
        "May echo run?\necho\n  text: a\nIs it safe? (asked by the plugin careful)"
    )
    assert (asked.rule, asked.lasting) == ("policy.rules[0], guard:careful", False)


async def test_a_refusal_of_a_guard_names_its_plugin(world, echo, taking):
    world.dispatcher.hooks = taking(pegboard_tool_guard=lambda event: Deny("No.", plugin="careful"))
    denied = await world.call("echo", '{"text": "a"}')
    assert denied.error.message == "Refused by the plugin careful: No."
    assert denied.details == {"rule": "guard:careful", "plugin": "careful"}


async def test_a_guest_learns_no_rule(world, echo, guest):
    rule = {"action": "deny", "arguments": {"text": "secret"}, "reason": "Only for the owner."}
    world.dispatcher.policy = ruled(rule, guest_tools=frozenset({"echo"}))
    denied = await world.call("echo", '{"text": "secret"}', caller=guest)
    assert denied.error.text() == "Error: This call of echo is not allowed. Do without this call."
    assert denied.details == {}
    assert (await world.call("echo", '{"text": "a"}', caller=guest)).output == "a"


async def test_no_secret_is_in_a_question(world, echo):
    world.dispatcher = Dispatcher(
        world.registry, redact=lambda text: text.replace("hunter2", "***")
    )
    world.dispatcher.policy = ruled({"action": "ask"})
    asked = (await world.call("echo", '{"text": "hunter2"}')).control
    assert "***" in asked.question
    assert "hunter2" not in asked.question
    assert asked.arguments == {"text": "hunter2"}
    other = (await world.call("echo", '{"text": "***"}')).control
    assert other.question == asked.question
    assert other.subject != asked.subject
