"""The one path that every call takes: a model's, a script's, a person's, a tool's own."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from pegboard.config.core_schema import CORE
from pegboard.contracts.audit import Audit
from pegboard.contracts.caller import Caller
from pegboard.contracts.effects import Effects
from pegboard.contracts.errors import PegboardError, SandboxError
from pegboard.contracts.hook_events import ToolArgumentsEvent, ToolCalled, ToolGuardEvent
from pegboard.contracts.result import DENIAL_BREAKER, Terminate, ToolResult
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Ask, Deny, Outcome, Verdict
from pegboard.plugins.building.isolation import is_plugin_fault, one_line
from pegboard.policy.decide import Gate
from pegboard.policy.derive import call_effects
from pegboard.policy.snapshot import OPEN_POLICY, PolicySnapshot
from pegboard.tools import refusals
from pegboard.tools.access import call_access, followed
from pegboard.tools.approval_questions import ApprovalQuestions
from pegboard.tools.arguments import Arguments, Checked
from pegboard.tools.call_context import unavailable_reason
from pegboard.tools.config_change import ConfigChanges
from pegboard.tools.execute import execute
from pegboard.tools.exposure import reachable
from pegboard.tools.hooks import Hooks, NoHooks
from pegboard.tools.implementation import Implementation
from pegboard.tools.registry import Registry
from pegboard.tools.run_scope import MAX_NESTING, CallRequest, FoundCall, RunScope, Unfound

TOOL_CALL: Final = "tool_call"


class Dispatcher:
    """Runs calls. Never raises for what a model, a tool or a plugin does wrong.

    Args:
        registry: The tools.
        hooks: Behaviour hooks; may be exchanged at any time.
        policy: What decisions are made from; may be exchanged at any time.
        decided: Told of each call of a run that has a lease, and whether it was denied.
        audit: Records every refusal, question and approval; None = nobody does.
        redact: Takes secrets out of error texts and questions; None = they stay as they are.
        changes: Makes the changes of the configuration that tools ask for; None = nobody does.
        refused: Told of each tool that a sandbox refused something, with what would allow it.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        hooks: Hooks | None = None,
        policy: PolicySnapshot = OPEN_POLICY,
        decided: Callable[[Caller, bool], None] | None = None,
        audit: Audit | None = None,
        redact: Callable[[str], str] | None = None,
        changes: ConfigChanges | None = None,
        refused: Callable[[RegisteredTool, str], Awaitable[None]] | None = None,
    ) -> None:
        self.registry = registry
        self.questions = ApprovalQuestions(audit, redact)
        self._redact = redact
        self.hooks: Hooks = hooks or NoHooks()
        self.policy = policy
        self.changes = changes
        self._decided = decided
        self._refused = refused
        self._arguments = Arguments()

    async def dispatch(self, request: CallRequest) -> ToolResult:
        """Run one call and return its result, whatever happens.

        That a call began and ended is the caller's to report; progress goes to `request.run.emit`.
        Cancelling this cancels the tool. What the journal raises is raised: a call that can't be
        recorded must not run. What it knows of a call is the answer, and nobody judges it again:
        what ran, ran.
        """
        run = request.run
        if run.journal is not None:
            known = await run.journal.known(request.id, request.name, request.arguments)
            if known is not None:
                return known
        begun = run.clock.monotonic()
        call = self._look(request, counted=True)
        if isinstance(call, Unfound):
            return await self._or_aborted(request, await self._unfound(request, call))
        if run.trace is not None:
            run.trace("find", name=request.name, found=True, tool=call.tool.canonical)
        result = await self._answer(call)
        error = None
        if result.error is not None:
            error = result.error.code
            if self._refused is not None and error == SandboxError.code and result.error.fix:
                await self._refused(call.tool, result.error.fix)
            if self._redact is not None:
                result.error = result.error.redacted(self._redact)
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
        return result if error is None else await self._or_aborted(request, result)

    async def _or_aborted(self, request: CallRequest, result: ToolResult) -> ToolResult:
        """Return a result, or the same as the end of a run that was refused too often."""
        caller = request.caller
        if not self.policy.leases.aborted(caller.lease):
            return result
        recorded = result.details.get("rule") == DENIAL_BREAKER  # as the refusal of this call
        if not recorded:
            await self.questions.record(request, None, "deny", DENIAL_BREAKER)
        return replace(result, control=Terminate(DENIAL_BREAKER))

    async def _unfound(self, request: CallRequest, call: Unfound) -> ToolResult:
        if request.run.trace is not None:
            request.run.trace("find", name=request.name, found=False)
        if call.tool is not None:
            await self.questions.record(request, call.tool, "deny", call.rule, disclosed=False)
        return call.result

    def find(self, request: CallRequest) -> FoundCall | ToolResult:
        """Find what a call is for, inside `tool_call` where that was used.

        What the caller may not know of is answered exactly as what does not exist.
        """
        call = self._look(request, counted=False)
        return call.result if isinstance(call, Unfound) else call

    def checked(self, call: FoundCall) -> Checked:
        """Return the arguments of a call, repaired and judged, as no hook has seen them yet."""
        return self._arguments.check(call.tool.spec, call.arguments)

    def _look(self, request: CallRequest, *, counted: bool) -> FoundCall | Unfound:
        """Find what a call is for; the calls of one step are looked at before they are made."""
        run, caller = request.run, request.caller
        name, arguments = request.name, request.arguments
        gate = self._gate(caller, run)
        for _ in range(MAX_NESTING - request.nesting):
            tool = self.registry.find(name)
            if tool is None or not reachable(tool, caller) or not gate.judge(tool).disclosed:
                verdict = None if tool is None else gate.judge(tool)
                hidden = verdict is not None and not verdict.disclosed
                if counted:  # alike, whether or not there is a tool
                    self._note(caller, denied=True)
                return Unfound(
                    self.not_found(name, caller, run),
                    tool,
                    verdict.rule if verdict is not None and hidden else "exposure",
                )
            if tool.plugin != CORE or tool.spec.name != TOOL_CALL:
                return FoundCall(request, tool, arguments, gate)
            checked = self._arguments.check(tool.spec, arguments)
            if checked.errors:
                return Unfound(refusals.invalid_arguments(tool, checked, by_hook=False))
            name, arguments = checked.arguments["name"], checked.arguments.get("arguments", "")
        return Unfound(refusals.nested_too_deeply())

    def not_found(self, name: str, caller: Caller, run: RunScope) -> ToolResult:
        """Answer a name that means nothing to a caller.

        The owner is told of a plugin that can't be used now, where the call could have passed.
        """
        if caller.trust == "operator":
            found = self.registry.unusable(name)
            if found is not None and self.allows(caller, run, found[0]):
                return refusals.plugin_unusable(name, found[1])
        return refusals.not_found(name, self.allowed(caller, run))

    def offered(self, caller: Caller, run: RunScope) -> tuple[RegisteredTool, ...]:
        """Return the tools that a model may be offered now: allowed, reachable and available."""
        allowed = self.registry.list(run.filter, caller, self._policy(caller, run))
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
        listed = self.registry.list(run.filter, caller, self._policy(caller, run))
        return (tool for tool in listed if reachable(tool, caller))

    def allows(self, caller: Caller, run: RunScope, tool: RegisteredTool) -> bool:
        """Tell whether some call of a tool could pass: whether it may be shown to this caller."""
        return reachable(tool, caller) and self._gate(caller, run).shows(tool)

    def offers(self, caller: Caller, run: RunScope, tool: RegisteredTool) -> bool:
        """Tell whether a tool may be shown to this caller and has what it needs to work now."""
        return (
            self.allows(caller, run, tool)
            and self.registry.missing(tool) is None
            and not self._unavailable(caller, run, tool)
        )

    def _policy(self, caller: Caller, run: RunScope) -> PolicySnapshot:
        """Return what decisions are made from now; only leases end with time."""
        return self.policy.at(run.clock.monotonic()) if caller.lease else self.policy

    def _gate(self, caller: Caller, run: RunScope) -> Gate:
        policy = self.policy
        if caller.lease:
            policy = policy.at(run.clock.monotonic())
        return run.gate(policy, caller)

    def _note(self, caller: Caller, *, denied: bool) -> None:
        if caller.lease and self._decided is not None:
            self._decided(caller, denied)

    async def _answer(self, call: FoundCall) -> ToolResult:
        checked = self._checked(call)
        if type(checked) is Checked and self.hooks.wants("pegboard_tool_arguments"):
            checked = await self._changed(call, checked)
        if isinstance(checked, ToolResult):
            return checked
        arguments = checked.arguments
        effects = call_effects(call.tool.spec, arguments)
        verdict = self._verdict(call, arguments, effects)
        guarded = self.hooks.wants("pegboard_tool_guard")
        if guarded or verdict.outcome is not Outcome.ALLOW or verdict.ask is not None:
            refused = await self._judged(call, arguments, verdict, guarded=guarded)
            if refused is not None:
                return refused
        ready = self._ready(call.tool) or await self._imported(call.tool)
        if isinstance(ready, ToolResult):
            return ready
        result = await execute(self, call, ready, arguments, effects)
        if checked.repairs:
            # made anew: a tool may return one result again and again
            details = {**result.details, "repairs": list(checked.repairs)}
            result = replace(result, details=details)
        return result

    def _checked(self, call: FoundCall) -> Checked | ToolResult:
        """Parse, repair and validate arguments."""
        checked = self.checked(call)
        trace = call.request.run.trace
        if trace is not None:
            trace("arguments", repairs=list(checked.repairs), errors=list(checked.errors))
        if checked.errors:
            return refusals.invalid_arguments(call.tool, checked, by_hook=False)
        return checked

    async def _changed(self, call: FoundCall, checked: Checked) -> Checked | ToolResult:
        """Let hooks change arguments; validate them again."""
        request, tool = call.request, call.tool
        trace, given = request.run.trace, checked.arguments
        event = ToolArgumentsEvent(
            call=request.id,
            tool=tool,
            # an object that a tool handed in is its own, and not for hooks to change
            arguments=copy.deepcopy(given) if given is call.arguments else given,
            caller=request.caller,
        )
        changed = (await self.hooks.transform("pegboard_tool_arguments", event)).arguments
        # also when it is the same object: a hook may have changed it in place
        again = self._arguments.check(tool.spec, changed, mend=False)
        if trace is not None:
            trace("arguments_hooks", arguments=again.arguments, errors=list(again.errors))
        if again.errors:
            return refusals.invalid_arguments(tool, again, by_hook=True)
        # a copy: what a hook keeps hold of could change after it was judged
        return again._replace(arguments=copy.deepcopy(again.arguments), repairs=checked.repairs)

    def _verdict(self, call: FoundCall, arguments: Mapping[str, Any], effects: Effects) -> Verdict:
        """Decide about what will really run."""
        request, tool = call.request, call.tool
        access = call_access(tool.spec, arguments, effects, request.run.workspace)
        if call.gate.reads_arguments(tool):  # links are looked up only where a rule may care
            access = followed(access, request.run.workspace)
        workspace = str(request.run.workspace)
        verdict = call.gate.judge(tool, access, arguments, workspace=workspace)
        if request.caller.lease:
            self._note(request.caller, denied=verdict.outcome is Outcome.DENY)
        if request.run.trace is not None:
            request.run.trace("decide", **verdict.to_dict())
        return verdict

    async def _judged(
        self, call: FoundCall, arguments: Mapping[str, Any], verdict: Verdict, *, guarded: bool
    ) -> ToolResult | None:
        """Refuse a call, or ask guards and a person about it; None lets it pass."""
        request, tool = call.request, call.tool
        if verdict.outcome is Outcome.DENY:
            await self.questions.record(request, tool, "deny", verdict.rule)
            return refusals.denied(verdict, call)
        answer = await self._guarded(call, arguments) if guarded else None
        if isinstance(answer, Deny):
            await self.questions.record(request, tool, "deny", refusals.guard_rule(answer))
            return refusals.denied_by_guard(answer)
        if verdict.ask is None and answer is None:
            return None
        return await self.questions.asked(
            call, self.questions.question(tool, arguments, verdict, answer)
        )

    async def _guarded(self, call: FoundCall, arguments: Mapping[str, Any]) -> Ask | Deny | None:
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

    def _ready(self, tool: RegisteredTool) -> Implementation | ToolResult | None:
        """Return what runs, or None when its plugin is to be imported first."""
        missing = self.registry.missing(tool)
        if missing is not None:
            return refusals.unavailable(tool, missing)
        return self.registry.loaded(tool)

    async def _imported(self, tool: RegisteredTool) -> Implementation | ToolResult:
        """Import what runs."""
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
        call = FoundCall(request, tool, {}, self._gate(caller, run))
        return unavailable_reason(self, call, ready, call_effects(tool.spec)) is not None
