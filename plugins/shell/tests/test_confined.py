"""The shell in the sandboxes that confine it, chosen without any word of the operator."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from pegboard.testing import HostFactory, HostUnderTest, ToolContract

pytestmark = pytest.mark.anyio
SANDBOXES = ("bubblewrap", "landlock")


@pytest.fixture(params=SANDBOXES)
async def running(
    request: pytest.FixtureRequest, host: HostFactory
) -> AsyncIterator[HostUnderTest]:
    config = {"sandbox": {"use": request.param}}
    async with host("shell", "sandbox-bubblewrap", config=config, record=False) as opened:
        report = await opened.host.sandbox_report()
        assert report.sandbox == request.param, report.notes
        yield opened


class TestShell(ToolContract):
    tool = "shell:shell"
    needs = ("sandbox-bubblewrap",)
    works = ({"command": "echo hi"}, {"command": "exit 3", "description": "Fail"})
    fails = (
        ({"command": "sleep 30", "timeout_ms": 200}, "timeout"),
        ({"command": "echo a\0b"}, "invalid_arguments"),
        ({"command": "true", "working_dir": "/etc"}, "sandbox_refused"),
    )


async def test_output_comes_before_how_it_ended(running: HostUnderTest) -> None:
    result = await running.call("shell", command="echo out; echo err >&2; exit 3")
    assert result.error is None
    out, mark, err, ending = result.text.split("\n")
    assert (out, mark, err) == ("out", "[stderr]", "err")
    assert ending.startswith("[exit code 3, ")
    assert result.details["exit_code"] == 3


async def test_it_works_in_the_workspace_and_below(running: HostUnderTest) -> None:
    (running.workspace / "sub").mkdir()
    result = await running.call("shell", command="pwd; echo x > made", working_dir="sub")
    assert result.structured["stdout"].strip() == str(running.workspace / "sub")
    assert (running.workspace / "sub/made").read_text() == "x\n"


async def test_a_timeout_keeps_what_was_written(running: HostUnderTest) -> None:
    result = await running.call("shell", command="echo begun; sleep 60", timeout_ms=1500)
    assert result.error is not None and result.error.code == "timeout"
    assert result.text.startswith("begun\n")


async def test_a_flood_keeps_both_ends_and_counts_the_rest(running: HostUnderTest) -> None:
    result = await running.call("shell", command="seq 1 200000")
    assert result.details["stdout_omitted_bytes"] > 1_000_000
    assert result.structured["stdout"].startswith("1\n2\n")
    assert result.structured["stdout"].endswith("199999\n200000\n")


async def test_a_background_child_is_ended_with_the_command(running: HostUnderTest) -> None:
    with anyio.fail_after(30):
        result = await running.call("shell", command="sleep 600 & echo hi")
    assert result.text.startswith("hi\n")


async def test_files_outside_are_out_of_reach(running: HostUnderTest, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    source = f"cat {tmp_path}/secret; echo evil > {tmp_path}/made; cat /etc/passwd"
    result = await running.call("shell", command=source)
    assert "secret\n" not in result.structured["stdout"]
    assert "nologin" not in result.text
    assert not (tmp_path / "made").exists()


async def test_there_is_no_network_and_the_answer_says_so(running: HostUnderTest) -> None:
    source = "exec 3<>/dev/tcp/127.0.0.1/9 || exit 1"
    result = await running.call("shell", command=source)
    assert "[sandbox: This command had no network" in result.text
    assert result.details["sandbox_notes"]


async def test_what_a_command_may_not_leave_behind_is_told(running: HostUnderTest) -> None:
    result = await running.call("shell", command="echo evil > .envrc")
    assert "[sandbox: .envrc decides what programs run" in result.text
    assert not (running.workspace / ".envrc").exists()


async def test_models_reach_it_by_other_names(running: HostUnderTest) -> None:
    for name in ("bash", "execute"):
        assert (await running.call(name, command="echo x")).structured["stdout"] == "x\n"
