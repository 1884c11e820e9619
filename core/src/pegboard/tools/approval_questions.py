"""A person's word about a call, and what the audit log is told of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pegboard.contracts.approval import subject_of
from pegboard.contracts.audit import Audit, AuditKind
from pegboard.contracts.result import Suspend, ToolResult
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Ask, Verdict
from pegboard.policy.approvals import decisive, is_lasting, shown_call
from pegboard.policy.audit import audited
from pegboard.policy.control_plane import CONTROL_PLANE
from pegboard.tools import refusals
from pegboard.tools.run_scope import CallRequest, FoundCall


class ApprovalQuestions:
    """Asks about calls, and records what became of them.

    Args:
        audit: Told of every refusal, question and approval; None = nobody is.
        redact: Takes secrets out of questions; None = they stay as they are.
    """

    def __init__(self, audit: Audit | None, redact: Callable[[str], str] | None) -> None:
        self._audit = audit
        self._redact = redact

    def question(
        self,
        tool: RegisteredTool,
        arguments: Mapping[str, Any],
        verdict: Verdict,
        guard: Ask | None,
    ) -> Suspend:
        """Return what a person is asked: by a rule, with the call itself, and by guards."""
        texts = []
        # what a model says of its call decides nothing, and is not what a person shall go by
        arguments = decisive(tool, arguments)
        if verdict.ask is not None:
            texts += [verdict.ask.question, shown_call(tool, arguments)]
        if guard is not None:
            by = f" (asked by the plugin {guard.plugin})" if guard.plugin else ""
            texts.append(f"{guard.question}{by}")
        question = "\n".join(texts)
        if self._redact is not None:
            question = self._redact(question)
        rules = [verdict.rule] if verdict.ask is not None else []
        rules += [] if guard is None else [refusals.guard_rule(guard)]
        rule = ", ".join(rules)
        return Suspend(
            question,
            rule,
            subject_of(tool.canonical, arguments, question),
            tool.canonical,
            arguments,
            lasting=is_lasting(rule),
        )

    async def asked(self, call: FoundCall, asked: Suspend) -> ToolResult | None:
        """Return a call that waits for a person's word, or None when they gave it to exactly this.

        Args:
            call: The call.
            asked: What the person is asked.
        """
        request, tool = call.request, call.tool
        if request.run.agreed(request, asked.subject):
            await self.record(request, tool, "approval", asked.rule, outcome="allow")
            return None
        waiting = refusals.waiting(call, asked)
        if waiting.control is None:
            await self.record(request, tool, "ask", asked.rule, how="nobody")
        else:
            request.run.ask(request.id, asked.subject)
            await self.record(request, tool, "ask", asked.rule, outcome="ask")
        return waiting

    async def record(
        self,
        request: CallRequest,
        tool: RegisteredTool | None,
        kind: AuditKind,
        rule: str,
        *,
        outcome: str = "deny",
        disclosed: bool = True,
        how: str = "",
    ) -> None:
        """Tell the audit log of a decision about a call."""
        if self._audit is None:
            return
        if rule == CONTROL_PLANE and kind == "deny":
            kind = "control_plane"
        event = audited(
            kind,
            rule,
            outcome,
            request.caller,
            at=request.run.clock.now(),
            tool="" if tool is None else tool.canonical,
            disclosed=disclosed,
            how=how,
            run=request.run.run,
            call=request.id,
        )
        await self._audit(event)
