"""The laws of a tool."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from pegboard.contracts.hook_events import ToolResultEvent
from pegboard.contracts.result import ToolResult
from pegboard.contracts.tool import RegisteredTool
from pegboard.testing.contracts.suite import LIMIT_S, PROMPT_S, Suite, missing

if TYPE_CHECKING:
    from pegboard.plugins.declaration import Plugin
    from pegboard.testing.host import HostFactory, HostUnderTest

Arguments = Mapping[str, Any]
CHANGING: Final = frozenset({"fs_write", "exec", "gui"})
"""Effects that may change files of the workspace."""


class ToolContract(Suite):
    """Laws that dispatch and policy rely on, tried with real calls in a real host.

    Subclass it, set `tool`, and give calls that work and calls that must fail.

    Attributes:
        tool: `plugin:tool`.
        works: Arguments of calls that do their job.
        fails: Arguments of calls that can't, each with the code of the error.
        needs: Ids of further plugins, e.g. a sandbox.
        config: Settings by dotted key.
        secrets: The secrets it needs.
        inline: Plugins that the test makes itself, by id.
        prompt_s: Wall-clock seconds within which a cancelled call has ended.
    """

    tool: str = ""
    works: tuple[Arguments, ...] = ()
    fails: tuple[tuple[Arguments, str], ...] = ()
    needs: tuple[str, ...] = ()
    config: Mapping[str, Any] = {}
    secrets: Mapping[str, str] = {}
    inline: Mapping[str, Plugin] = {}
    prompt_s: float = PROMPT_S

    def prepare(self, workspace: Path) -> None:
        """Put into the workspace what the calls need."""

    async def test_it_says_what_it_does(self, host: HostFactory) -> None:
        """It has a description, and so has every argument."""
        async with self._opened(host) as (_, tool):
            assert tool.spec.summary.strip(), "no description"
            arguments = tool.spec.parameters.get("properties", {})
            silent = [name for name, value in arguments.items() if not value.get("description")]
            assert not silent, f"no description of {', '.join(silent)}"

    async def test_an_unknown_argument_is_refused(self, host: HostFactory) -> None:
        """The schema is closed: an argument that does not exist is an error, not ignored."""
        async with self._opened(host) as (running, _):
            arguments = {**self._first(), "no_such_argument": 1}
            result = await running.call(self.tool, **arguments)
            assert result.error is not None, "an unknown argument was ignored"
            assert "no_such_argument" in result.error.message

    async def test_it_works(self, host: HostFactory) -> None:
        """Each call of `works` ends without an error and tells something."""
        self._first()
        async with self._opened(host) as (running, _):
            for arguments in self.works:
                with anyio.fail_after(LIMIT_S):
                    result = await _own_result(running, self.tool, arguments)
                assert result.error is None, f"{dict(arguments)}: {result.error}"
                assert result.text.strip() or result.structured is not None, "it told nothing"

    async def test_its_results_are_json(self, host: HostFactory) -> None:
        """What programs and a UI get survives being written down."""
        async with self._opened(host) as (running, _):
            calls = [*self.works, *(arguments for arguments, _ in self.fails)]
            for arguments in calls:
                result = await _own_result(running, self.tool, arguments)
                assert _survives(result.to_dict()), f"{dict(arguments)}: the result is not JSON"

    async def test_it_says_why_it_failed(self, host: HostFactory) -> None:
        """Each call of `fails` ends with the code that was named, a message and a way on."""
        async with self._opened(host) as (running, _):
            for arguments, code in self.fails:
                error = (await _own_result(running, self.tool, arguments)).error
                assert error is not None, f"{dict(arguments)}: it claims to have worked"
                assert error.code == code, f"{dict(arguments)}: {error}"
                assert error.message.strip(), "an error without a message"
                assert error.fix, f"{code}: no word on what to do next"

    async def test_it_changes_no_more_than_it_says(self, host: HostFactory) -> None:
        """Without the effects `fs_write`, `exec` or `gui` the workspace stays as it was."""
        async with self._opened(host) as (running, tool):
            if tool.spec.effects is None or tool.spec.effects & CHANGING:
                return
            before = _contents(running.workspace)
            for arguments in self.works:
                await running.call(self.tool, **arguments)
            assert _contents(running.workspace) == before, "it changed files of the workspace"

    async def test_it_can_be_cancelled(self, host: HostFactory) -> None:
        """A cancelled call ends at once."""
        arguments = self._first()
        async with self._opened(host) as (running, _):
            await running.call(self.tool, **arguments)  # the plugin is active from here on
            started = anyio.current_time()
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: running.call(self.tool, **arguments))
                await anyio.sleep(0.01)
                group.cancel_scope.cancel()
            took = anyio.current_time() - started
            assert took < self.prompt_s, f"it went on for {took:.1f} s"

    def _first(self) -> Arguments:
        if not self.works:
            missing(self, "works", "arguments of at least one call (it is an attribute)")
        return self.works[0]

    @asynccontextmanager
    async def _opened(
        self, host: HostFactory
    ) -> AsyncIterator[tuple[HostUnderTest, RegisteredTool]]:
        if not self.tool:
            missing(self, "tool", "plugin:tool (it is an attribute)")
        plugin = self.tool.partition(":")[0]
        named = () if plugin in self.inline else (plugin,)
        self.prepare(host.workspace)
        async with host(
            *named,
            *self.needs,
            inline=self.inline,
            config=self.config,
            secrets=self.secrets,
        ) as running:
            yield running, running.host.tool(self.tool)


async def _own_result(running: HostUnderTest, tool: str, arguments: Arguments) -> ToolResult:
    """Call a tool and return what it gave, before the host marks it as text from outside."""
    running.recorder.clear()
    result = await running.call(tool, **arguments)
    returned = running.recorder.of(ToolResultEvent)
    return returned[-1].result if returned else result


def _survives(value: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False


def _contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
