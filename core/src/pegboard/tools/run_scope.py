"""What dispatch needs to know of the run that a call belongs to, and the call itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from pegboard.contracts.blob import Blobs
from pegboard.contracts.caller import NO_FILTER, Caller, ToolFilter
from pegboard.contracts.clock import Clock, SystemClock
from pegboard.contracts.context import ModelAccess, Reply, Runs
from pegboard.contracts.effects import Effects
from pegboard.contracts.journal import Journal
from pegboard.contracts.result import ToolResult
from pegboard.contracts.sandbox import Sandbox
from pegboard.contracts.storage import NOBODY, Owner
from pegboard.contracts.stream import StreamEvent
from pegboard.contracts.tool import RegisteredTool
from pegboard.policy.decide import Gate
from pegboard.policy.snapshot import PolicySnapshot
from pegboard.tools.kept_results import KeptResults

Emit = Callable[[StreamEvent], Awaitable[None]]
MAX_NESTING: Final = 8


class Trace(Protocol):
    """Told of each stage that a call passes: what `pegboard tools call --trace` shows."""

    def __call__(self, stage: str, **facts: Any) -> None:
        """Note one stage; facts are JSON-serialisable."""
        ...


@dataclass(slots=True, kw_only=True, eq=False)
class RunScope:
    """One run: where its calls happen and whom they report to. Made by the host, once a run.

    Args:
        run: Id of the run.
        sandbox: Files and commands of the conversation.
        workspace: The folder of the run.
        blobs: Where large values go.
        model: The run's model.
        runs: Child runs.
        turn: Id of the turn, or "".
        conversation: Key of the conversation, or "".
        epoch: How often the conversation that it works for was begun anew.
        reply: The person, or None when no live person is there.
        emit: Told of each call's start, progress and end, or None.
        filter: What the run leaves out beside the operator's own filter.
        clock: The host's clock.
        journal: Record of calls, or None.
        kept: Full texts of results that were cut, for `tool_result_recall`.
        trace: Told of each stage of each call, or None.
        sandbox_now: Returns the sandbox as it is after the configuration changed, or None.
        owner: Whose it is what its calls keep.
    """

    run: str
    sandbox: Sandbox
    workspace: Path
    blobs: Blobs
    model: ModelAccess
    runs: Runs
    turn: str = ""
    conversation: str = ""
    epoch: int = 0
    reply: Reply | None = None
    emit: Emit | None = None
    filter: ToolFilter = NO_FILTER
    clock: Clock = field(default_factory=SystemClock)
    journal: Journal | None = None
    kept: KeptResults = field(default_factory=KeptResults)
    trace: Trace | None = None
    sandbox_now: Callable[[], Awaitable[Sandbox]] | None = None
    owner: Owner = NOBODY
    _gate: Gate | None = None
    _narrowed: dict[Effects, Sandbox] = field(default_factory=dict)
    _asked: dict[str, str] = field(default_factory=dict)
    _agreed: dict[str, set[str]] = field(default_factory=dict)

    def gate(self, policy: PolicySnapshot, caller: Caller) -> Gate:
        """Return the gate of this run; the last one is kept, for a run has one caller."""
        gate = self._gate
        if gate is None or not gate.fits(policy, caller, self.filter):
            gate = self._gate = Gate(policy, caller, self.filter)
        return gate

    def narrowed(self, effects: Effects) -> Sandbox:
        """Return the sandbox with at most these effects."""
        sandbox = self._narrowed.get(effects)
        if sandbox is None:
            sandbox = self._narrowed[effects] = self.sandbox.narrowed(effects)
        return sandbox

    async def renew(self) -> None:
        """Go on in the sandbox as it is now."""
        if self.sandbox_now is not None:
            self.sandbox = await self.sandbox_now()
            self._narrowed.clear()

    def ask(self, call: str, subject: str) -> None:
        """Remember what a person is asked about a call that waits."""
        self._asked[call] = subject

    def agreed(self, request: CallRequest, subject: str) -> bool:
        """Tell whether a person's word is about this: hooks may since have made it another call.

        A call may be asked about more than once; a word that was given stays.
        """
        agreed = self._agreed.setdefault(request.id, set(request.agreed))
        if request.approved and request.id in self._asked:
            agreed.add(self._asked.pop(request.id))
        return subject in agreed


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """One call as it comes in.

    Args:
        id: Unique within the run.
        name: The name that was used: short, alias, canonical or wire name.
        arguments: Text as the model wrote it, or an object.
        caller: Whom it acts for.
        run: The run it belongs to.
        approved: True when a person agreed to what was asked about this call in this run.
        agreed: Subjects that a person agreed to before (`Suspend.subject`).
        nesting: Calls that this one is inside of.
    """

    id: str
    name: str
    arguments: str | Mapping[str, Any]
    caller: Caller
    run: RunScope
    approved: bool = False
    agreed: frozenset[str] = frozenset()
    nesting: int = 0


class FoundCall(NamedTuple):
    """A call whose tool was found and may be known to its caller.

    Args:
        request: The call.
        tool: What it is for; what `tool_call` was told to call, not `tool_call` itself.
        arguments: Arguments as they came in.
        gate: What decides about it.
    """

    request: CallRequest
    tool: RegisteredTool
    arguments: str | Mapping[str, Any]
    gate: Gate


class Unfound(NamedTuple):
    """A call that meets no tool, as far as its caller may know.

    Args:
        result: The answer.
        tool: The tool that there is all the same, or None.
        rule: The rule that hides it.
    """

    result: ToolResult
    tool: RegisteredTool | None = None
    rule: str = ""
