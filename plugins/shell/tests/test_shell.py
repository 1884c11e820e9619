from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from pegboard.testing import HostFactory, HostUnderTest

pytestmark = pytest.mark.anyio
ALLOWED = {"sandboxes.local": {"allow_unconfined_shell": True}}


@pytest.fixture
async def running(host: HostFactory) -> AsyncIterator[HostUnderTest]:
    async with host("shell", "sandbox-local", config=ALLOWED, record=False) as opened:
        yield opened


async def test_output_comes_before_how_it_ended(running: HostUnderTest) -> None:
    result = await running.call("shell", command="echo out; echo err >&2; exit 3")
    assert result.error is None
    out, mark, err, ending = result.text.split("\n")
    assert (out, mark, err) == ("out", "[stderr]", "err")
    assert ending.startswith("[exit code 3, ")
    assert result.structured == {
        "exit_code": 3,
        "signal": None,
        "stdout": "out\n",
        "stderr": "err\n",
    }
    assert result.details["exit_code"] == 3
    assert result.details["duration_ms"] >= 0


async def test_a_silent_command_still_tells_how_it_ended(running: HostUnderTest) -> None:
    result = await running.call("shell", command="true")
    assert result.text.startswith("[exit code 0, ")


async def test_an_end_by_a_signal_is_named(running: HostUnderTest) -> None:
    result = await running.call("shell", command="kill -KILL $$")
    assert "[ended by signal 9 (SIGKILL), " in result.text
    assert result.details["signal"] == 9


async def test_a_timeout_is_an_error_that_keeps_what_was_written(running: HostUnderTest) -> None:
    result = await running.call("shell", command="echo begun; sleep 60", timeout_ms=1500)
    assert result.error is not None
    assert result.error.code == "timeout"
    assert result.error.message == "The command was still running after 1.5 s and was ended."
    assert result.text.startswith("begun\n")
    assert result.details["timed_out"] == "wall"


async def test_a_timeout_above_the_cap_is_the_cap(host: HostFactory) -> None:
    config = {**ALLOWED, "plugins.shell": {"timeout_ms": 1000, "max_timeout_ms": 2000}}
    async with host("shell", "sandbox-local", config=config, record=False) as running:
        result = await running.call("shell", command="true", timeout_ms=10_000_000)
        assert result.details["timeout_ms"] == 2000
        assert (await running.call("shell", command="true")).details["timeout_ms"] == 1000


async def test_a_flood_keeps_both_ends_and_counts_the_rest(running: HostUnderTest) -> None:
    result = await running.call("shell", command="seq 1 200000")
    assert result.error is None
    assert result.details["stdout_omitted_bytes"] > 1_000_000
    assert result.structured["stdout"].startswith("1\n2\n")
    assert result.structured["stdout"].endswith("199999\n200000\n")
    assert result.text.rstrip().splitlines()[-1].startswith("[exit code 0, ")


async def test_a_background_child_is_ended_and_that_is_said(running: HostUnderTest) -> None:
    with anyio.fail_after(30):
        result = await running.call("shell", command="sleep 600 & echo hi")
    assert result.text.startswith("hi\n")
    assert result.text.endswith("[something it had started was still running, and was ended]")
    assert result.details["pipe_held"]


async def test_it_is_bash_without_options_or_start_up_files(running: HostUnderTest) -> None:
    result = await running.call("shell", command="false | true; echo $? $- ${BASH_VERSION:0:1}")
    code, options, version = result.structured["stdout"].split()
    assert code == "0"
    assert "e" not in options
    assert int(version) >= 3


async def test_it_starts_where_it_is_told(running: HostUnderTest) -> None:
    (running.workspace / "sub").mkdir()
    result = await running.call("shell", command="pwd", working_dir="sub")
    assert result.structured["stdout"].strip() == str(running.workspace / "sub")
    result = await running.call("shell", command="pwd")
    assert result.structured["stdout"].strip() == str(running.workspace)
    result = await running.call("shell", command="pwd", working_dir="gone")
    assert result.error is not None
    assert result.error.fix


async def test_standard_input_is_empty(running: HostUnderTest) -> None:
    with anyio.fail_after(30):
        result = await running.call("shell", command='read x; echo "got:$x"; cat')
    assert result.structured["stdout"] == "got:\n"


async def test_without_the_operators_word_nothing_runs(host: HostFactory) -> None:
    async with host("shell", "sandbox-local", record=False) as running:
        result = await running.call("shell", command="touch made")
        assert result.error is not None
        assert "pegboard config set sandboxes.local.allow_unconfined_shell true" in (
            result.error.fix or ""
        )
        assert not (running.workspace / "made").exists()


async def test_models_reach_it_by_other_names(running: HostUnderTest) -> None:
    for name in ("bash", "execute"):
        assert (await running.call(name, command="echo x")).structured["stdout"] == "x\n"


async def test_guests_do_not_reach_it(running: HostUnderTest) -> None:
    result = await running.call("shell", as_guest=True, command="touch made")
    assert result.error is not None
    assert not (running.workspace / "made").exists()


async def test_bytes_that_are_no_text_come_as_text(running: HostUnderTest) -> None:
    result = await running.call("shell", command="printf 'a\\xffb\\n'")
    assert result.structured["stdout"] == "a\ufffdb\n"
    shown = await running.call(
        "shell", command="printf '\\033[1;31mred\\033[0m \\033]0;title\\007a\\0b\\tc\\r\\n'"
    )
    assert shown.text.startswith("red a\ufffdb\tc\r\n[exit code 0, ")
    assert shown.structured["stdout"].startswith("\x1b[1;31mred")


async def test_an_exit_code_that_tells_of_a_signal_says_so(running: HostUnderTest) -> None:
    result = await running.call("shell", command="bash -c 'kill -9 $$'; exit $?")
    assert result.text.splitlines()[-1].startswith("[exit code 137 (128 + SIGKILL), ")
