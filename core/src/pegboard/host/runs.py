"""What runs need from the host: a scope for their calls, a way to dispatch steps, child runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import anyio

from pegboard.agent.loop import run_loop
from pegboard.agent.prompt import date_note
from pegboard.agent.setup import Declare, DispatchStep, LoopSetup
from pegboard.contracts.blob import Blobs
from pegboard.contracts.caller import Caller
from pegboard.contracts.capability import Capability
from pegboard.contracts.channel import Emit
from pegboard.contracts.clock import Clock
from pegboard.contracts.context import Reply, RunResult, RunSpec
from pegboard.contracts.message import Message
from pegboard.contracts.provider import ModelAnswer, ToolDeclaration
from pegboard.contracts.stream import StreamEvent
from pegboard.host.models import Models
from pegboard.host.workspace import Workspace
from pegboard.policy.capabilities import require_capability
from pegboard.policy.lease import LeaseTable
from pegboard.providers.chat import RouteModel
from pegboard.tools.deferral import Deferral
from pegboard.tools.dispatch import Dispatcher
from pegboard.tools.parallel import StepRunner
from pegboard.tools.run_scope import RunScope, Trace

WORKER = """\
You are a worker with one narrow task and nobody to talk to. Do it with as few tool calls as you \
can and answer with what you found, what you could not find, and nothing else."""


class RunSpaces:
    """Makes what a run calls tools in.

    Args:
        dispatcher: Runs calls.
        leases: Bounds what runs hold.
        deferral: Chooses what is declared.
        models: Who is asked.
        workspace: The folder and its sandbox.
        blobs: Where large values go.
        clock: Time.
        new_id: Returns a new id for a run.
    """

    def __init__(
        self,
        *,
        dispatcher: Dispatcher,
        leases: LeaseTable,
        deferral: Deferral,
        models: Models,
        workspace: Workspace,
        blobs: Blobs,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self.new_id = new_id
        self.dispatcher = dispatcher
        self.leases = leases
        self.deferral = deferral
        self.models = models
        self.workspace = workspace
        self.blobs = blobs
        self.clock = clock

    async def scope(
        self,
        caller: Caller,
        *,
        run: str,
        conversation: str = "",
        reply: Reply | None = None,
        emit: Emit | None = None,
        trace: Trace | None = None,
    ) -> RunScope:
        """Return the scope of a run's calls."""
        return RunScope(
            run=run,
            turn=run,
            conversation=conversation,
            sandbox=await self.workspace.sandbox(),
            workspace=self.workspace.folder,
            blobs=self.blobs,
            model=_LazyModel(self.models),
            runs=ChildRuns(self, caller),
            reply=reply if caller.live_reply else None,
            emit=emit,
            clock=self.clock,
            trace=trace,
        )

    @contextmanager
    def leased(
        self,
        caller: Caller,
        *,
        lifetime_s: float = math.inf,
        requested: Iterable[Capability] | None = None,
    ) -> Iterator[Caller]:
        """Give a caller a lease below the one it has, for the time of the block.

        Args:
            caller: Whom the run is for.
            lifetime_s: Seconds that the lease lives at most.
            requested: Capabilities that the run asks for; None = all that may be had.

        Raises:
            CapabilityDeniedError: When the lease that the caller has is over.
        """
        lease = self.leases.issue(
            self.dispatcher.policy.capabilities,
            now=self.clock.monotonic(),
            lifetime_s=lifetime_s,
            parent=caller.lease,
            requested=requested,
        )
        try:
            yield replace(caller, lease=lease.id)
        finally:
            self.leases.revoke(lease.id)

    def dispatch_step(self, scope: RunScope, caller: Caller) -> DispatchStep:
        """Return what runs the calls of a step for a caller."""
        return StepRunner(self.dispatcher, scope, caller)

    def declare(self, scope: RunScope, caller: Caller) -> Declare:
        """Return what chooses the tools to declare for a caller."""

        async def declare(added: frozenset[str]) -> Sequence[ToolDeclaration]:
            offered = self.dispatcher.offered(caller, scope)
            return self.deferral.declared(offered, added=added).tools

        return declare


class ChildRuns:
    """Child runs for tools, with the caller's rights narrowed; implements `Runs`."""

    def __init__(self, spaces: RunSpaces, caller: Caller) -> None:
        self._spaces = spaces
        self._caller = caller

    async def start(self, spec: RunSpec) -> RunResult:
        """Run an agent loop to its end and return its answer.

        Raises:
            CapabilityDeniedError: When the caller's run may not start others.
        """
        spaces = self._spaces
        held = spaces.dispatcher.policy.at(spaces.clock.monotonic()).held(self._caller)
        require_capability(held, "orch:spawn", what="Starting another run")
        # one spelling of each name: two lists have in common what is spelled alike
        mine = replace(self._caller, tools=self._canonical(self._caller.tools))
        child = mine.narrow(tools=self._canonical(spec.tools))
        with spaces.leased(child, lifetime_s=spec.timeout_s, requested=spec.capabilities) as caller:
            return await self._run(spec, caller)

    def _canonical(self, names: Iterable[str] | None) -> frozenset[str] | None:
        if names is None:
            return None
        find = self._spaces.dispatcher.registry.find
        return frozenset(tool.canonical if (tool := find(name)) else name for name in names)

    async def _run(self, spec: RunSpec, caller: Caller) -> RunResult:
        spaces = self._spaces
        run = spaces.new_id()
        scope = await spaces.scope(caller, run=run)
        setup = LoopSetup(
            route=await spaces.models.route(),
            dispatch_step=spaces.dispatch_step(scope, caller),
            declare=spaces.declare(scope, caller),
            emit=_ignore,
            clock=spaces.clock,
            run=run,
            max_steps=spec.max_steps,
        )
        messages = (
            Message.of("system", spec.system or WORKER),
            date_note(spaces.clock.now()),
            Message.of("user", spec.prompt),
        )
        with anyio.move_on_after(spec.timeout_s):
            result = await run_loop(setup, messages)
            error = result.error["message"] if result.error else ""
            return RunResult(
                text=result.text, status=result.status, steps=result.steps, error=error
            )
        return RunResult(
            text="",
            status="timed_out",
            steps=setup.progress.steps,
            error=f"stopped after {spec.timeout_s:g} s",
        )


class _LazyModel:
    """The run's model, chosen when a tool first asks it; implements `ModelAccess`."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def complete(
        self, prompt: str | Sequence[Message], *, max_output: int | None = None
    ) -> ModelAnswer:
        """Ask the model once, without tools."""
        return await RouteModel(await self._models.route()).complete(prompt, max_output=max_output)


async def _ignore(event: StreamEvent) -> None:
    """Take an event of a child run, which nobody watches."""
