"""What runs need from the host: a scope for their calls, and a way to dispatch steps."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from pegboard.agent.digests import RunDigests
from pegboard.agent.setup import Declare, DispatchStep
from pegboard.contracts.archive import Archive
from pegboard.contracts.blob import Blobs
from pegboard.contracts.caller import NO_FILTER, Caller, ToolFilter
from pegboard.contracts.capability import Capability
from pegboard.contracts.channel import Emit
from pegboard.contracts.clock import Clock
from pegboard.contracts.context import ModelAccess, Reply
from pegboard.contracts.journal import Journal
from pegboard.contracts.message import Message
from pegboard.contracts.provider import ModelAnswer, ToolDeclaration
from pegboard.contracts.storage import Owner
from pegboard.host.agents import Agents
from pegboard.host.child_table import ChildTable
from pegboard.host.children import ChildRuns
from pegboard.host.kept_before import KeptBefore
from pegboard.host.model_choice import AS_CONFIGURED, ModelChoice
from pegboard.host.models import Models
from pegboard.host.places import Place, Places
from pegboard.policy.lease import LeaseTable
from pegboard.providers.chat import RouteModel
from pegboard.providers.hop import Admit, ModelAttempt, OnAttempt
from pegboard.tools.deferral import Deferral
from pegboard.tools.dispatch import Dispatcher
from pegboard.tools.execute import RECALL
from pegboard.tools.kept_results import KeptResults
from pegboard.tools.parallel import StepRunner
from pegboard.tools.recall_keeper import RecallKeeper
from pegboard.tools.run_scope import RunScope, Trace

Spent = Callable[[ModelAttempt, Caller, str, str], Awaitable[None]]
"""`await spent(attempt, caller, turn, conversation)`; never raises."""
AdmitRun = Callable[[Caller, str, str, str, str], Awaitable[None]]
"""`await admit(caller, turn, conversation, provider, model)`; raises `BudgetError`."""


class RunSpaces:
    """Makes what a run calls tools in.

    Args:
        dispatcher: Runs calls.
        leases: Bounds what runs hold.
        deferral: Chooses what is declared.
        models: Who is asked.
        agents: The named agents.
        workspace: The folders and their sandboxes.
        blobs: Where large values go.
        clock: Time.
        new_id: Returns a new id for a run.
        fill: Part of the model's window that a run may take before its older results are shortened;
            None = they never are.
        spent: Told of each request of a child run: what was asked, for whom, and in which turn and
            conversation.
        admit: Lets a child run ask a model once more, for whom, and in which turn and conversation;
            raises `BudgetError`.
        archive: Where whole results of earlier turns are found, or None.
        redact: Takes secrets out of what a child run fails with.
    """

    def __init__(
        self,
        *,
        dispatcher: Dispatcher,
        leases: LeaseTable,
        deferral: Deferral,
        models: Models,
        agents: Agents,
        workspace: Places,
        blobs: Blobs,
        clock: Clock,
        new_id: Callable[[], str],
        fill: float | None = None,
        spent: Spent | None = None,
        admit: AdmitRun | None = None,
        archive: Archive | None = None,
        redact: Callable[[str], str] = str,
    ) -> None:
        self.redact = redact
        self.new_id = new_id
        self._fill = fill
        self.spent = spent
        self.admit = admit
        self._archive = archive
        self.dispatcher = dispatcher
        self.leases = leases
        self.deferral = deferral
        self.models = models
        self.agents = agents
        self.children = ChildTable()
        self.workspace = workspace
        self.blobs = blobs
        self.clock = clock

    async def scope(
        self,
        caller: Caller,
        *,
        run: str,
        turn: str | None = None,
        conversation: str = "",
        epoch: int = 0,
        reply: Reply | None = None,
        emit: Emit | None = None,
        trace: Trace | None = None,
        filter: ToolFilter = NO_FILTER,
        model: ModelAccess | None = None,
        journal: Journal | None = None,
        kept: KeptResults | None = None,
        place: Place | None = None,
        model_choice: ModelChoice | None = None,
        owner: Owner | None = None,
    ) -> RunScope:
        """Return the scope of a run's calls.

        Args:
            caller: Whom the run is for.
            run: Its id.
            turn: Id of the turn; None = that of the run.
            conversation: Key of the conversation, or "".
            epoch: How often the conversation that it works for was begun anew.
            reply: The person; nobody but a live one is passed on.
            emit: Told of each call's progress.
            trace: Told of each stage of each call.
            filter: What the run leaves out beside the operator's own filter.
            model: The run's model; None = that of the caller's agent.
            journal: Record of calls.
            kept: Full texts of results that were cut; None = none yet.
            place: The folder it works in; None = the host's own.
            model_choice: Whom it asks; None = as the caller's agent does.
            owner: Whose it is what its calls keep; None = that of its own turn.
        """
        place = self.workspace.own if place is None else place
        agent = self.agents.known(caller.agent)
        if model_choice is None:
            model_choice = AS_CONFIGURED if agent is None else agent.model_choice
        kept = KeptResults() if kept is None else kept
        # what a guest may read of a chat that others write in as well is what its history shows
        if self._archive is not None and conversation and caller.trust == "operator":
            kept.before = KeptBefore(self._archive, self.blobs, conversation)
        return RunScope(
            run=run,
            turn=run if turn is None else turn,
            conversation=conversation,
            epoch=epoch,
            sandbox=await place.workspace.sandbox(),
            workspace=place.folder,
            blobs=self.blobs,
            model=model
            or _LazyModel(
                self.models,
                model_choice,
                self._counted(caller, run, conversation),
                self._admitted(caller, run, conversation),
            ),
            runs=ChildRuns(
                self,
                caller,
                run=run,
                conversation=conversation,
                epoch=epoch,
                filter=filter,
                place=place,
                model_choice=model_choice,
            ),
            reply=reply if caller.live_reply else None,
            emit=emit,
            filter=filter,
            clock=self.clock,
            journal=journal,
            kept=kept,
            trace=trace,
            sandbox_now=place.workspace.sandbox,
            owner=owner or Owner(conversation=conversation, turn=run, person=caller.sender),
        )

    def _counted(self, caller: Caller, run: str, conversation: str) -> OnAttempt | None:
        """Return what counts the requests that tools of a run make."""
        spent = self.spent
        if spent is None:
            return None
        return lambda attempt: spent(attempt, caller, run, conversation)

    def _admitted(self, caller: Caller, run: str, conversation: str) -> Admit | None:
        """Return what lets tools of a run ask a model once more."""
        return None if self.admit is None else partial(self.admit, caller, run, conversation)

    def close(self, scope: RunScope, why: str) -> None:
        """End what a run has started and that outlived it.

        Args:
            scope: That of the run, which is over.
            why: How it ended, as a sentence for whoever still waits for a child.
        """
        self.workspace.leave(scope.run)
        if isinstance(scope.runs, ChildRuns):
            scope.runs.close(why)

    @contextmanager
    def leased(
        self,
        caller: Caller,
        *,
        held: frozenset[Capability] | None = None,
        lifetime_s: float = math.inf,
        requested: Iterable[Capability] | None = None,
    ) -> Iterator[Caller]:
        """Give a caller a lease below the one it has, for the time of the block.

        Args:
            caller: Whom the run is for.
            held: What may be had at most; None = what the operator's profile gives.
            lifetime_s: Seconds that the lease lives at most.
            requested: Capabilities that the run asks for; None = all that may be had.

        Raises:
            CapabilityDeniedError: When the lease that the caller has is over.
        """
        lease = self.leases.issue(
            self.dispatcher.policy.capabilities if held is None else held,
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

    def digests(self, scope: RunScope, caller: Caller) -> RunDigests | None:
        """Return what shortens a run's older results when it comes near the model's window."""
        if self._fill is None:
            return None

        def may_recall() -> bool:
            recall = self.dispatcher.registry.find(RECALL)
            return recall is not None and self.dispatcher.allows(caller, scope, recall)

        return RunDigests(RecallKeeper(scope, may_recall), threshold=self._fill)

    def declare(self, scope: RunScope, caller: Caller) -> Declare:
        """Return what chooses the tools to declare for a caller."""

        async def declare(added: frozenset[str]) -> Sequence[ToolDeclaration]:
            offered = self.dispatcher.offered(caller, scope)
            return self.deferral.declared(offered, added=added).tools

        return declare


class _LazyModel:
    """The run's model, chosen when a tool first asks it; implements `ModelAccess`."""

    def __init__(
        self,
        models: Models,
        model_choice: ModelChoice,
        on_attempt: OnAttempt | None,
        admit: Admit | None,
    ) -> None:
        self._models = models
        self._admit = admit
        self._on_attempt = on_attempt
        self._model_choice = model_choice

    async def complete(
        self, prompt: str | Sequence[Message], *, max_output: int | None = None
    ) -> ModelAnswer:
        """Ask the model once, without tools."""
        route = await self._models.route(*self._model_choice)
        model = RouteModel(route, on_attempt=self._on_attempt, admit=self._admit)
        return await model.complete(prompt, max_output=max_output)
