"""The one path that every call takes: a model's, a script's, a person's, a tool's own."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pegboard.config.core_schema import CORE
from pegboard.contracts.caller import Caller
from pegboard.contracts.effects import Effects
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.hook_events import ToolArgumentsEvent, ToolCalled, ToolGuardEvent
from pegboard.contracts.result import ToolResult
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Ask, Deny, Outcome
from pegboard.plugins.building.isolation import is_plugin_fault, one_line
from pegboard.policy.decide import OPEN_POLICY, PolicySnapshot
from pegboard.policy.derive import call_effects
from pegboard.tools import refusals
from pegboard.tools.access import call_access
from pegboard.tools.arguments import Arguments, Checked
from pegboard.tools.call_context import unavailable_reason
from pegboard.tools.execute import execute
from pegboard.tools.exposure import reachable
from pegboard.tools.hooks import Hooks, NoHooks
from pegboard.tools.implementation import Implementation
from pegboard.tools.registry import Registry
from pegboard.tools.run_scope import MAX_NESTING, CallRequest, FoundCall, RunScope

TOOL_CALL: Final = "tool_call"


class Dispatcher:
    """Runs calls. Never raises for what a model, a tool or a plugin does wrong.

    Args:
        registry: The tools.
        hooks: Behaviour hooks; may be exchanged at any time.
        policy: What decisions are made from; may be exchanged at any time.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        hooks: Hooks | None = None,
        policy: PolicySnapshot = OPEN_POLICY,
    ) -> None:
        self.registry = registry
        self.hooks: Hooks = hooks or NoHooks()
        self.policy = policy
        self._arguments = Arguments()

    async def dispatch(self, request: CallRequest) -> ToolResult:
        """Run one call and return its result, whatever happens.

        That a call began and ended is the caller's to report; progress goes to `request.run.emit`.
        Cancelling this cancels the tool. What the journal raises is raised: a call that can't be
        recorded must not run.
        """
        run = request.run
        begun = run.clock.monotonic()
        call = self.find(request)
        if isinstance(call, ToolResult):
            if run.trace is not None:
                run.trace("find", name=request.name, found=False)
            return call
        if run.trace is not None:
            run.trace("find", name=request.name, found=True, tool=call.tool.canonical)
        result = await self._answer(call)
        error = None if result.error is None else result.error.code
        if self.hooks.wants("pegboard_event", "tool_called"):
            await self.hooks.observe(
                ToolCalled(
                    call=request.id,
                    tool=call.tool,
                    caller=request.caller,
                    duration_ms=(run.clock.monotonic() - begun) * 1000,
                    error=error,
                )
            )
        if run.trace is not None:
            run.trace("end", error=error)
        return result

    def find(self, request: CallRequest) -> FoundCall | ToolResult:
        """Find what a call is for, inside `tool_call` where that was used.

        What the caller may not know of is answered exactly as what does not exist.
        """
        run, caller = request.run, request.caller
        name, arguments = request.name, request.arguments
        gate = run.gate(self.policy, caller)
        for _ in range(MAX_NESTING - request.nesting):
            tool = self.registry.find(name)
            if tool is None or not reachable(tool, caller) or not gate.judge(tool).disclosed:
                return refusals.not_found(name, self.allowed(caller, run))
            if tool.plugin != CORE or tool.spec.name != TOOL_CALL:
                return FoundCall(request, tool, arguments, gate)
            checked = self._arguments.check(tool.spec, arguments)
            if checked.errors:
                return refusals.invalid_arguments(tool, checked, by_hook=False)
            name, arguments = checked.arguments["name"], checked.arguments.get("arguments", "")
        return refusals.nested_too_deeply()

    def offered(self, caller: Caller, run: RunScope) -> tuple[RegisteredTool, ...]:
        """Return the tools that a model may be offered now: allowed, reachable and available."""
        allowed = self.registry.list(run.filter, caller, self.policy)
        left_out = {
            tool.canonical
            for tool in allowed
            if not reachable(tool, caller) or self._unavailable(caller, run, tool)
        }
        if not left_out:
            return allowed
        return tuple(tool for tool in allowed if tool.canonical not in left_out)

    def allowed(self, caller: Caller, run: RunScope) -> Iterator[RegisteredTool]:
        """Yield the tools of which some call could pass."""
        listed = self.registry.list(run.filter, caller, self.policy)
        return (tool for tool in listed if reachable(tool, caller))

    def allows(self, caller: Caller, run: RunScope, tool: RegisteredTool) -> bool:
        """Tell whether some call of a tool could pass: whether it may be shown to this caller."""
        return reachable(tool, caller) and run.gate(self.policy, caller).shows(tool)

    def offers(self, caller: Caller, run: RunScope, tool: RegisteredTool) -> bool:
        """Tell whether a tool may be shown to this caller and has what it needs to work now."""
        return (
            self.allows(caller, run, tool)
            and self.registry.missing(tool) is None
            and not self._unavailable(caller, run, tool)
        )

    async def _answer(self, call: FoundCall) -> ToolResult:
        checked = await self._checked(call)
        if isinstance(checked, ToolResult):
            return checked
        arguments = checked.arguments
        effects = call_effects(call.tool.spec, arguments)
        refused = await self._judged(call, arguments, effects)
        if refused is not None:
            return refused
        ready = await self._ready(call.tool)
        if isinstance(ready, ToolResult):
            return ready
        result = await execute(self, call, ready, arguments, effects)
        if checked.repairs:
            result.details = {**result.details, "repairs": list(checked.repairs)}
        return result

    async def _checked(self, call: FoundCall) -> Checked | ToolResult:
        """Parse, repair and validate arguments; let hooks change them; validate again."""
        request, tool = call.request, call.tool
        checked = self._arguments.check(tool.spec, call.arguments)
        trace = request.run.trace
        if trace is not None:
            trace("arguments", repairs=list(checked.repairs), errors=list(checked.errors))
        if checked.errors:
            return refusals.invalid_arguments(tool, checked, by_hook=False)
        if not self.hooks.wants("pegboard_tool_arguments"):
            return checked
        event = ToolArgumentsEvent(
            call=request.id, tool=tool, arguments=checked.arguments, caller=request.caller
        )
        changed = (await self.hooks.transform("pegboard_tool_arguments", event)).arguments
        # also when it is the same object: a hook may have changed it in place
        again = self._arguments.check(tool.spec, changed, mend=False)
        if trace is not None:
            trace("arguments_hooks", arguments=again.arguments, errors=list(again.errors))
        if again.errors:
            return refusals.invalid_arguments(tool, again, by_hook=True)
        return again._replace(repairs=checked.repairs)

    async def _judged(
        self, call: FoundCall, arguments: Mapping[str, Any], effects: Effects
    ) -> ToolResult | None:
        """Decide about what will really run; None lets it pass."""
        request, tool = call.request, call.tool
        access = call_access(tool.spec, arguments, effects, request.run.workspace)
        verdict = call.gate.judge(tool, access)
        if request.run.trace is not None:
            request.run.trace("decide", **verdict.to_dict())
        if verdict.outcome is Outcome.DENY:
            return refusals.denied(verdict)
        answer = await self._guarded(call, arguments)
        if isinstance(answer, Deny):
            return refusals.denied_by_guard(answer)
        questions = [ask.question for ask in (verdict.ask, answer) if ask is not None]
        if not questions or request.approved:
            return None
        rule = "guard" if verdict.ask is None else verdict.rule
        return refusals.waiting(call, "\n".join(questions), rule)

    async def _guarded(self, call: FoundCall, arguments: Mapping[str, Any]) -> Ask | Deny | None:
        if not self.hooks.wants("pegboard_tool_guard"):
            return None
        event = ToolGuardEvent(
            call=call.request.id,
            tool=call.tool,
            arguments=copy.deepcopy(arguments),  # what was judged must be what runs
            caller=call.request.caller,
        )
        answer = await self.hooks.guard("pegboard_tool_guard", event)
        if call.request.run.trace is not None:
            call.request.run.trace("guards", answer=repr(answer))
        return answer

    async def _ready(self, tool: RegisteredTool) -> Implementation | ToolResult:
        """Return what runs, importing its plugin if need be."""
        missing = self.registry.missing(tool)
        if missing is not None:
            return refusals.unavailable(tool, missing)
        ready = self.registry.loaded(tool)
        if ready is not None:
            return ready
        try:
            return await self.registry.implementation(tool)
        except PegboardError as error:
            return refusals.plugin_failed(tool, error)
        except BaseException as error:
            if not is_plugin_fault(error):
                raise
            return refusals.plugin_failed(tool, PegboardError(one_line(error)))

    def _unavailable(self, caller: Caller, run: RunScope, tool: RegisteredTool) -> bool:
        """Ask a tool whose plugin is imported already; others are asked when they are called."""
        ready = self.registry.loaded(tool)
        if ready is None or ready.available is None:
            return False
        request = CallRequest(id="", name=tool.wire_name, arguments={}, caller=caller, run=run)
        call = FoundCall(request, tool, {}, run.gate(self.policy, caller))
        return unavailable_reason(self, call, ready, call_effects(tool.spec)) is not None
