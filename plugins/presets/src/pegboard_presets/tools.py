"""One named command as a tool."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pegboard_shell.output import STOPPED, command_facts, command_text

from pegboard import Command, Effect, ToolContext, ToolFailure, ToolResult, ToolSpec, catastrophe

if TYPE_CHECKING:
    from pegboard_presets.config import Preset

PREFIX: Final = "preset_"
EFFECTS: Final[frozenset[Effect]] = frozenset({"read", "fs_write", "exec", "net_read", "net_write"})
_BEYOND_S: Final = 30.0
_ARGUMENTS: Final = {
    "arguments": {
        "type": "array",
        "items": {"type": "string"},
        "maxItems": 200,
        "default": [],
        "description": "Arguments to add at the end; no shell reads them.",
    }
}


class PresetTool:
    """A command of the operator.

    Args:
        name: Its name in the configuration.
        preset: What is known of it.
    """

    def __init__(self, name: str, preset: Preset) -> None:
        self._preset = preset
        self._key = f"pegboard config set plugins.presets.commands.{name}"
        self.spec = ToolSpec(
            name=f"{PREFIX}{name}",
            description=preset.description or f"Run `{shlex.join(preset.command)}`.",
            parameters={
                "type": "object",
                "properties": _ARGUMENTS if preset.arguments else {},
                "additionalProperties": False,
            },
            effects=_effects(preset),
            category="system",
            outside=preset.network,
            timeout_s=preset.timeout_ms / 1000 + _BEYOND_S,
        )

    async def __call__(self, ctx: ToolContext, args: Mapping[str, Any]) -> ToolResult:
        """Run the command to its end."""
        preset = self._preset
        argv = (*preset.command, *args.get("arguments", ()))
        found = None if preset.allow_catastrophic else catastrophe(argv)
        if found is not None:
            raise ToolFailure(
                f"This command is refused ({found.kind}): {found.reason}.",
                fix="Name what you mean more narrowly. Only the operator can allow it: "
                f"{self._key}.allow_catastrophic true",
                code="catastrophic_command",
            )
        done = await ctx.sandbox.run(
            Command(argv=argv, cwd=preset.working_dir, timeout_s=preset.timeout_ms / 1000)
        )
        facts = {"command": shlex.join(argv), **command_facts(done)}
        if done.timed_out is not None:
            return ToolResult.failed(
                "timeout" if done.timed_out != "output" else "too_much_output",
                f"The command: {STOPPED[done.timed_out]}.",
                fix=_stopped(done.timed_out, self._key),
                output=command_text(done),
                details=facts,
            )
        return ToolResult(
            command_text(done),
            structured={
                "exit_code": done.exit_code,
                "signal": done.signal,
                "stdout": done.stdout.text(),
                "stderr": done.stderr.text(),
            },
            details=facts,
        )


def _stopped(reason: str, key: str) -> str:
    """Return what can be done about a limit, and by whom."""
    if reason == "wall":
        return f"Only the operator can give it more time: {key}.timeout_ms MILLISECONDS"
    return "Let it write less, or into a file."


def _effects(preset: Preset) -> frozenset[Effect]:
    found: set[Effect] = {"read", "exec"}
    if preset.writes:
        found.add("fs_write")
    if preset.network:
        found |= {"net_read", "net_write"}
    return frozenset(found)
