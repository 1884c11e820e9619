"""What a tool does wrong costs its call and nothing else."""

from __future__ import annotations

import asyncio
import datetime
import threading
import time
from pathlib import Path

import anyio
import pytest

from pegboard.contracts.errors import SandboxError, ToolFailure
from pegboard.contracts.result import AddTools, Image, Text, ToolError, ToolResult
from pegboard.contracts.tool import OutputLimits

pytestmark = pytest.mark.anyio


async def test_a_failure_says_what_and_what_next(world):
    @world.add
    async def look() -> str:
        """Look."""
        raise ToolFailure("No such row.", fix="List rows first.", code="no_row", retryable=True)

    result = await world.call("look")
    assert result.error == ToolError("no_row", "No such row.", "List rows first.", True)


@pytest.mark.parametrize(
    "error", [ValueError("bad"), SystemExit(3), GeneratorExit(), asyncio.CancelledError(),
              StopAsyncIteration(), TimeoutError("own"), RecursionError(), BaseException("odd")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
async def test_whatever_a_tool_raises_is_contained(world, error):
    @world.add
    async def crash() -> str:
        """Crash."""
        raise error

    result = await world.call("crash")
    assert result.error.code == "tool_crashed"
    assert type(error).__name__ in result.error.message
    assert "plugin demo" in result.error.fix
    assert "Traceback" not in result.error.text()
    await anyio.sleep(0)  # the task is not being cancelled


@pytest.mark.parametrize(
    "error",
    [ValueError("bad"), SystemExit(3), KeyboardInterrupt(), GeneratorExit(), StopIteration()],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_a_thread_raises_is_contained(world, error):
    @world.add
    def crash() -> str:
        """Crash."""
        raise error

    result = await world.call("crash")
    assert result.error.code == "tool_crashed"
    assert type(error).__name__ in result.error.message


async def test_a_failure_inside_a_task_group_is_told_as_itself(world):
    @world.add
    async def grouped() -> str:
        """Use a task group."""

        async def fail():
            raise ToolFailure("Inside.", code="inside")

        async with anyio.create_task_group() as group:
            group.start_soon(fail)
        return ""

    assert (await world.call("grouped")).error.code == "inside"


async def test_errors_of_the_system_and_the_sandbox_are_told_plainly(world):
    @world.add
    async def read(which: str) -> str:
        """Read."""
        if which == "sandbox":
            raise SandboxError("/etc is outside.", fix="Grant it.")
        return Path("/nowhere/at/all").read_text()

    missing = await world.call("read", '{"which": "file"}')
    assert missing.error.code == "not_found"
    assert missing.error.message == "No such file or directory: /nowhere/at/all."
    outside = await world.call("read", '{"which": "sandbox"}')
    assert outside.error == ToolError("sandbox_refused", "/etc is outside.", "Grant it.")


async def test_a_tool_that_takes_too_long_is_stopped(world):
    stopped = []

    @world.add(timeout_s=0.05)
    async def slow() -> str:
        """Sleep."""
        try:
            await anyio.sleep(30)
        finally:
            stopped.append(True)
        return ""

    began = time.monotonic()
    result = await world.call("slow")
    assert time.monotonic() - began < 5
    assert result.error.code == "timeout"
    assert "0.05 s" in result.error.message
    assert "may have done part" in result.error.message
    assert stopped == [True]


async def test_a_tool_that_fails_while_it_is_stopped_has_timed_out(world):
    @world.add(timeout_s=0.05)
    async def slow() -> str:
        """Sleep."""
        try:
            await anyio.sleep(30)
        except BaseException:
            raise ValueError("cleaning up") from None
        return ""

    assert (await world.call("slow")).error.code == "timeout"


async def test_a_thread_that_takes_too_long_does_not_hold_up_the_call(world):
    release = threading.Event()

    @world.add(timeout_s=0.1)
    def slow() -> str:
        """Block."""
        release.wait(20)
        return ""

    began = time.monotonic()
    result = await world.call("slow")
    release.set()
    assert time.monotonic() - began < 5
    assert result.error.code == "timeout"


async def test_cancelling_a_call_cancels_the_tool(world):
    seen = []

    @world.add
    async def wait() -> str:
        """Wait."""
        try:
            await anyio.sleep_forever()
        except BaseException as error:
            seen.append(type(error).__name__)
            raise
        return ""

    with anyio.move_on_after(0.05) as scope:
        await world.call("wait")
    assert scope.cancelled_caught
    assert seen == ["CancelledError"]


async def test_a_task_that_is_cancelled_ends_its_call(world):
    @world.add
    async def wait() -> str:
        """Wait."""
        await anyio.sleep_forever()
        return ""

    task = asyncio.create_task(world.call("wait"))
    await anyio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_sync_tools_share_a_few_threads_of_their_plugin(world):
    running, most = [], []
    lock = threading.Lock()

    @world.add
    def work() -> str:
        """Work."""
        with lock:
            running.append(1)
            most.append(len(running))
        time.sleep(0.02)
        with lock:
            running.pop()
        return "done"

    async with anyio.create_task_group() as group:
        for _ in range(12):
            group.start_soon(world.call, "work")
    assert 1 < max(most) <= 4


@pytest.mark.parametrize(
    ("value", "output", "structured"),
    [
        ("text", "text", None),
        ("", "(no output)", None),
        (None, "(no output)", None),
        (b"by\xfftes", "by\ufffdtes", None),
        (7, "7", 7),
        (True, "true", True),
        ([], "[]", []),
        ({"a": "é"}, '{\n  "a": "é"\n}', {"a": "é"}),
        (ToolResult("out", structured=[1]), "out", [1]),
        (ToolResult(""), "(no output)", None),
        (ToolResult([]), "(no output)", None),
    ],
)
async def test_what_a_tool_returns_becomes_a_result(world, value, output, structured):
    @world.add
    async def give() -> object:
        """Give."""
        return value

    result = await world.call("give")
    assert result.text == output
    assert result.structured == structured
    assert result.error is None


@pytest.mark.parametrize(
    "value",
    [
        {1, 2},
        pytest.param(object(), id="object"),  # its repr is another one in each process
        {"a": {1}},
        float("nan"),
        ToolResult(structured={1}),
        ToolResult(42),
        ToolResult("x", details=None),
        ToolResult("x", error="it failed"),
        ToolResult(error=ToolError("code", ValueError("x"))),
        ToolResult([Text(42)]),
        ToolResult(b"bytes"),
    ],
    ids=lambda value: repr(value)[:60],
)
async def test_what_is_no_result_is_an_error(world, value):
    @world.add
    async def give() -> object:
        """Give."""
        return value

    result = await world.call("give")
    assert result.error.code == "tool_crashed"
    assert result.output == ""


async def test_details_that_are_no_json_become_text(world):
    @world.add
    async def give() -> ToolResult:
        """Give."""
        return ToolResult("ok", details={"path": Path("/x"), "n": 1})

    result = await world.call("give")
    assert result.details == {"path": repr(Path("/x")), "n": 1}


async def test_parts_keep_their_order_and_images(world):
    @world.add
    async def shot(ctx) -> ToolResult:
        """Shoot."""
        blob = await ctx.blobs.put(b"png", media_type="image/png")
        return ToolResult([Text("a\ud800"), Image(blob), Text("b")])

    result = await world.call("shot")
    assert [getattr(part, "text", "image") for part in result.output] == ["a\ufffd", "image", "b"]


async def test_long_text_among_parts_is_cut_and_the_images_stay(world):
    @world.add(limits=OutputLimits(chars=500))
    async def shot(ctx) -> ToolResult:
        """Shoot."""
        blob = await ctx.blobs.put(b"png", media_type="image/png")
        return ToolResult([Text("a" * 2000), Image(blob), Text("b" * 2000)])

    result = await world.call("shot", id="c1")
    text, image = result.output
    assert len(text.text) <= 500
    assert isinstance(image, Image)
    assert world.run.kept.get("c1").chars == 4001


async def test_an_async_function_behind_a_plain_one_is_awaited(world):
    async def inner():
        return "awaited"

    @world.add
    def outer() -> str:
        """Call an async function."""
        return inner()

    assert (await world.call("outer")).output == "awaited"


async def test_arguments_are_converted_to_what_the_function_expects(world):
    seen = []

    @world.add
    async def take(folder: Path, many: tuple[int, ...] = ()) -> str:
        """Take."""
        seen.append((folder, many))
        return "ok"

    assert (await world.call("take", '{"folder": "/x", "many": [1, 2]}')).output == "ok"
    assert seen == [(Path("/x"), (1, 2))]


async def test_a_tool_object_is_as_good_as_a_function(world, plain):
    tool = plain("direct", first_party=True)

    class Direct:
        spec = tool.spec

        async def __call__(self, ctx, args):
            return ToolResult(f"{ctx.call.id} {args}")

        def available(self, ctx):
            return None

    world.registry.register(tool, Direct())
    assert (await world.call("direct", id="c1")).output == "c1 {}"


class Unspeakable:
    def __repr__(self):
        raise ValueError("no words")


async def test_details_and_structured_data_can_be_written_everywhere(world):
    @world.add
    async def give() -> ToolResult:
        """Give."""
        details = {"n": float("nan"), "s": "\ud83e!", "odd": Unspeakable(), "ok": [1]}
        return ToolResult("ok", details=details, structured={"title": "\ud83e!"})

    result = await world.call("give")
    assert result.details == {"n": "nan", "s": "\ufffd!", "odd": "<Unspeakable>", "ok": [1]}
    assert result.structured == {"title": "\ufffd!"}


@pytest.mark.parametrize(
    ("value", "part"),
    [
        (ToolResult("x", control=AddTools(None)), "adds tools by something else than names"),
        (ToolResult("x", control=AddTools((1,))), "adds tools by something else than names"),
        (ToolResult("x", error=ToolError("c", None)), "its error does not consist of texts"),
        (ToolResult("x", error=ToolError(5, "m")), "its error does not consist of texts"),
    ],
)
async def test_what_would_break_the_loop_breaks_the_call(world, value, part):
    @world.add
    async def give() -> ToolResult:
        """Give."""
        return value

    result = await world.call("give")
    assert result.error.code == "tool_crashed"
    assert part in result.error.message
    assert result.control is None


async def test_advice_is_cut_like_any_text(world):
    @world.add
    async def fail() -> ToolResult:
        """Fail."""
        return ToolResult.failed("x", "No.", fix="Do this. " * 100_000)

    assert len((await world.call("fail")).error.text()) < 5_000


async def test_a_value_that_only_its_type_refuses_is_a_mistake_in_the_arguments(world):
    @world.add
    async def remind(day: datetime.date, times: list[datetime.time]) -> str:
        """Remind."""
        return f"{day:%d.%m.%Y}"

    good = '{"day": "2026-02-03", "times": ["10:00"]}'
    assert (await world.call("remind", good)).output == "03.02.2026"
    result = await world.call("remind", '{"day": "2026-02-31", "times": ["10:00", "x"]}')
    assert result.error.code == "invalid_arguments"
    assert "- day: Input should be a valid date" in result.error.message
    assert "- times[1]: Input should be in a valid time" in result.error.message
    assert "errors.pydantic.dev" not in result.error.message
    assert result.error.fix.startswith("Call remind again with one JSON object of: day (string")
