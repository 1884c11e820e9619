"""Commands that go on between calls, in each sandbox that can have them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from pegboard.testing import HostFactory, HostUnderTest

pytestmark = pytest.mark.anyio
SANDBOXES = ("local", "bubblewrap", "landlock")
UNTIL_S = 20.0


@pytest.fixture(params=SANDBOXES)
async def running(
    request: pytest.FixtureRequest, host: HostFactory
) -> AsyncIterator[HostUnderTest]:
    config = {
        "sandbox": {"use": request.param},
        "sandboxes.local": {"allow_unconfined_shell": True},
    }
    async with host(
        "shell", "sandbox-bubblewrap", "sandbox-local", config=config, record=False
    ) as opened:
        report = await opened.host.sandbox_report()
        assert report.sandbox == request.param, report.notes
        with anyio.fail_after(120):
            yield opened


@pytest.fixture
async def local(host: HostFactory) -> AsyncIterator[HostUnderTest]:
    config = {"sandboxes.local": {"allow_unconfined_shell": True}}
    async with host("shell", "sandbox-local", config=config, record=False) as opened:
        yield opened


async def test_a_command_goes_on_and_is_followed_fed_and_ended(running: HostUnderTest) -> None:
    source = "echo up; while read x; do echo got:$x; done; echo over; exit 4"
    begun = await running.call("shell", command=source, background=True, description="Echo")
    assert begun.error is None, begun.error
    assert begun.text.splitlines()[:2] == ["up", "[p1 running]"], begun.text
    assert begun.structured["handle"] == "p1"
    assert (await running.call("process", action="list")).text == "p1 running: Echo"
    sent = await running.call("process", action="send", handle="p1", command="one")
    assert sent.text.startswith("got:one\n[p1 running; next offset 11]")
    log = await running.call("process", action="log", handle="p1", offset=0)
    assert log.text.startswith("up\ngot:one\n")
    await running.call("process", action="send", handle="p1", close=True)
    ended = await running.call("process", action="log", handle="p1", offset=-5, wait_ms=20_000)
    while ended.details["running"]:
        ended = await running.call("process", action="log", handle="p1", offset=-5)
    assert ended.text.startswith("over\n[p1 ended: exit code 4, ")
    assert ended.details["exit_code"] == 4


async def test_a_server_is_ended_with_all_it_started(running: HostUnderTest) -> None:
    source = "(while :; do echo x >> beat; sleep 0.05; done) & echo up; wait"
    await running.call("shell", command=source, background=True)
    beat = running.workspace / "beat"
    with anyio.fail_after(UNTIL_S):
        while not beat.exists():
            await anyio.sleep(0.02)
    killed = await running.call("process", action="kill", handle="p1")
    assert "[p1 ended: " in killed.text
    size = beat.stat().st_size
    await anyio.sleep(0.3)
    assert beat.stat().st_size == size


async def test_a_program_in_a_terminal_is_seen_and_typed_to(running: HostUnderTest) -> None:
    made = await running.call(
        "terminal", action="create", command="python3 -q", rows=12, columns=60
    )
    assert made.error is None, made.error
    seen = await running.call("terminal", action="wait", handle="t1", text=">>>", wait_ms=20_000)
    assert seen.error is None, seen.text
    await running.call(
        "terminal", action="send", handle="t1", command="print('a' + 'b' * 3)", keys=["enter"]
    )
    shown = await running.call("terminal", action="wait", handle="t1", text="abbb", wait_ms=20_000)
    assert shown.error is None, shown.text
    assert shown.details["rows"] == 12
    assert "\x1b" not in shown.text
    await running.call("terminal", action="send", handle="t1", keys=["ctrl-d"])
    over = await running.call("terminal", action="wait", handle="t1", wait_ms=20_000)
    assert "[t1 ended: exit code 0, " in over.text


async def test_what_fails_at_once_is_told_at_once(local: HostUnderTest) -> None:
    result = await local.call("shell", command="echo no >&2; exit 3", background=True)
    assert result.text.startswith("no\n[p1 ended: exit code 3, ")
    assert result.details["exit_code"] == 3
    assert not result.details["running"]


async def test_a_name_that_is_not_there_is_told_with_those_that_are(local: HostUnderTest) -> None:
    await local.call("shell", command="sleep 60", background=True)
    missing = await local.call("process", action="log", handle="p9")
    assert missing.error is not None
    assert missing.error.code == "not_found"
    assert missing.error.message == "There is no process 'p9' here. There are: p1."


async def test_a_conversation_does_not_see_what_another_one_started(host: HostFactory) -> None:
    config = {"sandboxes.local": {"allow_unconfined_shell": True}}
    async with host(
        "shell", "sandbox-local", "provider-offline", config=config, record=False
    ) as running:
        begun = await running.ask("/shell command='echo mine; sleep 60' background=true", chat="a")
        assert "[p1 running]" in begun.text
        other = await running.ask("/process action=log handle=p1", chat="b")
        assert "There is no process 'p1' here. There are: none." in other.text
        again = await running.ask("/process action=log handle=p1 offset=0", chat="a")
        assert "\nmine\n[p1 running" in again.text


async def test_too_many_are_refused(local: HostUnderTest) -> None:
    for _ in range(8):
        assert (await local.call("shell", command="sleep 60", background=True)).error is None
    result = await local.call("shell", command="sleep 60", background=True)
    assert result.error is not None and result.error.code == "too_many_processes"
    await local.call("process", action="kill", handle="p3")
    assert (await local.call("shell", command="sleep 60", background=True)).error is None


async def test_a_signal_is_sent_by_name(local: HostUnderTest) -> None:
    source = "trap 'echo told; exit 9' USR1; echo up; while :; do sleep 0.05; done"
    await local.call("shell", command=source, background=True)
    result = await local.call("process", action="kill", handle="p1", signal_name="usr1")
    with anyio.fail_after(UNTIL_S):
        while result.details["running"]:
            result = await local.call("process", action="log", handle="p1", offset=0)
    assert result.details["exit_code"] == 9
    wrong = await local.call("process", action="kill", handle="p1", signal_name="NOPE")
    assert wrong.error is not None and wrong.error.code == "invalid_arguments"


async def test_what_is_typed_is_judged_by_the_rules_of_the_shell(host: HostFactory) -> None:
    arguments = {"command": "rm *"}
    rule = {"action": "deny", "tool": "shell", "arguments": arguments, "reason": "Use the bin."}
    config = {
        "sandboxes.local": {"allow_unconfined_shell": True},
        "policy": {"rules": [rule]},
    }
    async with host("shell", "sandbox-local", config=config, record=False) as running:
        await running.call("shell", command="cat", background=True)
        await running.call("terminal", action="create")
        for name, handle in (("process", "p1"), ("terminal", "t1")):
            result = await running.call(name, action="send", handle=handle, command="rm -rf x")
            assert result.error is not None and result.error.message == "Use the bin."
        result = await running.call("shell", command="rm x", background=True)
        assert result.error is not None


@pytest.mark.parametrize("action", ["create", "send"])
async def test_a_catastrophe_is_refused_by_name(host: HostFactory, action: str) -> None:
    config = {"sandboxes.local": {"allow_unconfined_shell": True}}
    async with host("shell", "sandbox-local", config=config, record=False) as running:
        result = await running.call("shell", command="sudo rm -rf /*")
        assert result.error is not None and result.error.code == "catastrophic_command"
        assert "(delete_root)" in result.error.message
        assert "plugins.shell.allow_catastrophic true" in (result.error.fix or "")
        await running.call("terminal", action="create")
        typed = await running.call("terminal", action=action, handle="t1", command="mkfs /dev/sda")
        assert typed.error is not None and typed.error.code == "catastrophic_command"


async def test_the_operator_may_allow_a_catastrophe(host: HostFactory) -> None:
    config = {
        "sandboxes.local": {"allow_unconfined_shell": True},
        "plugins.shell": {"allow_catastrophic": True},
    }
    async with host("shell", "sandbox-local", config=config, record=False) as running:
        result = await running.call("shell", command="true || shutdown now")
        assert result.error is None


async def test_what_runs_ends_with_the_host(host: HostFactory) -> None:
    config = {"sandboxes.local": {"allow_unconfined_shell": True}}
    async with host("shell", "sandbox-local", config=config, record=False) as running:
        source = "while :; do echo x >> beat; sleep 0.05; done"
        await running.call("shell", command=source, background=True)
        beat = running.workspace / "beat"
        with anyio.fail_after(UNTIL_S):
            while not beat.exists():
                await anyio.sleep(0.02)
    size = beat.stat().st_size
    await anyio.sleep(0.3)
    assert beat.stat().st_size == size
