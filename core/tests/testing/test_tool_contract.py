"""Each law of `ToolContract` fails for a tool that breaks it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

import anyio
import pytest

from pegboard import Arg, Plugin, ToolContext, ToolFailure, ToolResult, ToolSpec
from pegboard.testing import HostFactory, ToolContract

pytestmark = pytest.mark.anyio


def plugin_with(function: Any, **facts: Any) -> Plugin:
    plugin = Plugin()
    plugin.add_tools(function) if hasattr(function, "spec") else plugin.tool(**facts)(function)
    return plugin


async def sound(text: Annotated[str, Arg("What to repeat.")]) -> str:
    """Repeat a text."""
    if text == "bad":
        raise ToolFailure("bad is bad", code="bad_text", fix="Say something else.")
    return text


class Suite(ToolContract):
    tool = "sample:sample"
    works = ({"text": "hello"}, {"text": "again"})
    fails = (({"text": "bad"}, "bad_text"),)
    inline: ClassVar = {"sample": plugin_with(sound, name="sample", effects={"read"})}
    prompt_s = 1.0


class TestASoundTool(Suite):
    pass


async def unexplained(text: str) -> str:
    """Repeat a text."""
    return await sound(text)


class Open:
    """A tool whose schema takes anything."""

    spec = ToolSpec(
        name="sample",
        description="Repeat a text.",
        parameters={"type": "object", "properties": {"text": {"type": "string"}}},
        effects=frozenset({"read"}),
    )

    async def __call__(self, ctx: ToolContext, args: Mapping[str, Any]) -> ToolResult:
        return ToolResult(str(args["text"]))


async def failing(text: Annotated[str, Arg("What to repeat.")]) -> str:
    """Repeat a text."""
    raise ToolFailure("never", fix="Give up.")


async def telling_nothing(text: Annotated[str, Arg("What to repeat.")]) -> str:
    """Repeat a text."""
    return " "


async def no_json(text: Annotated[str, Arg("What to repeat.")]) -> ToolResult:
    """Repeat a text."""
    return ToolResult(text, details={"seen": {text}})


async def content(text: Annotated[str, Arg("What to repeat.")]) -> str:
    """Repeat a text, any text."""
    return text


async def no_way_on(text: Annotated[str, Arg("What to repeat.")]) -> str:
    """Repeat a text."""
    raise ToolFailure("bad is bad", code="bad_text")


async def other_code(text: Annotated[str, Arg("What to repeat.")]) -> str:
    """Repeat a text."""
    raise ToolFailure("bad is bad", code="other", fix="Say something else.")


async def writing(ctx: ToolContext, text: Annotated[str, Arg("What to repeat.")]) -> str:
    """Repeat a text, and write it down behind everybody's back."""
    (ctx.call.workspace / "written.txt").write_text(text)
    return text


async def stubborn(text: Annotated[str, Arg("What to repeat.")]) -> str:
    """Repeat a text, whatever is said meanwhile."""
    with anyio.CancelScope(shield=True):
        await anyio.sleep(1.2)
    return text


BREAKS: list[tuple[str, Any]] = [
    ("it_says_what_it_does", unexplained),
    ("an_unknown_argument_is_refused", Open()),
    ("it_works", failing),
    ("it_works", telling_nothing),
    ("its_results_are_json", no_json),
    ("it_says_why_it_failed", content),
    ("it_says_why_it_failed", no_way_on),
    ("it_says_why_it_failed", other_code),
    ("it_changes_no_more_than_it_says", writing),
    ("it_can_be_cancelled", stubborn),
]


@pytest.mark.parametrize(("law", "function"), BREAKS)
async def test_a_broken_tool_fails_the_law(law: str, function: Any, host: HostFactory) -> None:
    class Broken(Suite):
        inline: ClassVar = {"sample": plugin_with(function, name="sample", effects={"read"})}

    with pytest.raises(AssertionError):
        await getattr(Broken(), f"test_{law}")(host)


def test_every_law_is_seen_to_fail() -> None:
    laws = {
        name.removeprefix("test_")
        for name, _ in inspect.getmembers(ToolContract, inspect.isfunction)
        if name.startswith("test_")
    }
    assert laws == {law for law, _ in BREAKS}


async def test_a_suite_without_a_call_says_what_to_define(host: HostFactory) -> None:
    class Empty(Suite):
        works = ()

    with pytest.raises(pytest.fail.Exception, match="works"):
        await Empty().test_it_works(host)


async def test_the_workspace_is_prepared_first(host: HostFactory) -> None:
    class Prepared(Suite):
        def prepare(self, workspace: Path) -> None:
            (workspace / "notes.txt").write_text("ready")

    await Prepared().test_it_works(host)
    assert (host.workspace / "notes.txt").read_text() == "ready"
