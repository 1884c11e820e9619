"""What a tool, and a plugin, may reach. No host, no registry, no store, nobody else's config."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from logging import Logger
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from pegboard.contracts.blob import Blobs
from pegboard.contracts.caller import Caller
from pegboard.contracts.capability import Capability
from pegboard.contracts.clock import Clock
from pegboard.contracts.effects import Effects, PolicyClass
from pegboard.contracts.message import Message, OutboundMessage
from pegboard.contracts.provider import NO_USAGE, ModelAnswer, Usage
from pegboard.contracts.result import ToolResult
from pegboard.contracts.sandbox import Sandbox
from pegboard.contracts.storage import NOBODY, Owner, Storage
from pegboard.contracts.stream import StreamEvent
from pegboard.contracts.tool import Tool

RunStatus = Literal["done", "failed", "timed_out", "cancelled"]
NOT_DELEGATED: Final[tuple[PolicyClass, ...]] = ("read_write", "gui_control")
"""Classes that work done for another run does not have unless it is said: two runs at a time that
change the same files or the same screen undo each other's work."""


@dataclass(slots=True, kw_only=True)  # plain: two are made for every call
class CallInfo:
    """The call that a tool is answering.

    Args:
        id: Unique within the run.
        run: Id of the run.
        turn: Id of the turn, or "".
        conversation: Key of the conversation, or "".
        epoch: How often the conversation that it is done for was begun anew, with `/new`.
        attempt: 1, or more when recovery runs the call again.
        idempotency_key: The same for every attempt of this call.
        deadline: `Clock.monotonic()` value at which the call is stopped.
        effects: What this call may do: declared, narrowed by the caller.
        workspace: The folder of the run.
        owner: Whose it is what this call keeps; of a child run that for which it was started.
    """

    id: str
    run: str
    turn: str = ""
    conversation: str = ""
    epoch: int = 0
    attempt: int = 1
    idempotency_key: str = ""
    deadline: float = 0.0
    effects: Effects = frozenset()
    workspace: Path = Path()
    owner: Owner = NOBODY


class Family(Protocol):
    """Tools that come and go while the host runs, below the ceiling that the manifest states."""

    async def replace(self, tools: Sequence[Tool], *, group: str = "") -> None:
        """Swap all tools of the family (or of one group of it) for `tools`, as one step.

        Raises:
            PluginError: When a name lacks the prefix, or a tool exceeds the family's ceiling;
                nothing is changed then.
        """
        ...


class PluginContext(Protocol):
    """What a plugin's own code may use: config, secrets, storage, a folder, the clock, a log."""

    id: str
    config: Any
    """The plugin's settings: an instance of its pydantic model, or a dict when it has none."""
    clock: Clock
    log: Logger
    state: Any
    """What the plugin's lifespan yielded, or None."""

    @property
    def data_dir(self) -> Path:
        """A folder of the plugin's own, created on first use."""
        ...

    @property
    def storage(self) -> Storage:
        """What it keeps: JSON documents, and tables of its own."""
        ...

    @property
    def families(self) -> Mapping[str, Family]:
        """Its dynamic tools, by prefix, as the manifest declares them."""
        ...

    def secret(self, name: str) -> str:
        """Return a secret that the manifest declares.

        Raises:
            PluginError: When it is not declared, or not set; the message says how to set it.
        """
        ...

    def service(self, name: str) -> Any:
        """Return a service that this or another active plugin offers.

        Raises:
            PluginError: When nobody offers it; the message names the package that does, if known.
        """
        ...

    def new_id(self) -> str:
        """Return a new unique id, sortable by time."""
        ...


class ModelAccess(Protocol):
    """The run's model, for tools that need one answer."""

    async def complete(
        self, prompt: str | Sequence[Message], *, max_output: int | None = None
    ) -> ModelAnswer:
        """Ask the model once, without tools.

        Raises:
            ProviderError: When the provider fails.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """A child run that a tool starts. It can only have less than the run that starts it.

    Args:
        prompt: What it shall do.
        system: Its system prompt, or "" for that of a worker. A named agent's prompt is added.
        agent: Named agent whose prompt, route, tools and limits it has; one that the agent of the
            caller's run delegates to. "" = a worker without a name.
        tools: Names it may use; None = all that the caller has.
        without: Policy classes that it does not have, beside those that the caller has not. The
            sandbox of its calls has no effect of these classes.
        capabilities: Capabilities it asks for; None = all that the caller's run holds. It never
            gets others than those.
        provider: Provider instance to ask; "" = that of its agent, else the caller's.
        model: Model to ask; "" = that of its agent, else the caller's, unless `provider` is given.
        effort: Reasoning effort (`low`, `medium`, `high`); None = that of its agent.
        max_steps: Model calls at most.
        timeout_s: Seconds at most.
        result_bytes: Bytes of the answer that are kept at most; None = all.
    """

    prompt: str
    system: str = ""
    agent: str = ""
    tools: tuple[str, ...] | None = None
    without: tuple[PolicyClass, ...] = NOT_DELEGATED
    capabilities: tuple[Capability, ...] | None = None
    provider: str = ""
    model: str = ""
    effort: str | None = None
    max_steps: int = 40
    timeout_s: float = 300.0
    result_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What a child run came to.

    Args:
        text: Its answer. Of a run that did not end by itself: the last that it said, or "".
        status: `done`, `failed`, `timed_out`, or `cancelled` when somebody stopped this one run.
        steps: Model calls made.
        error: Why it is not done, as a sentence, or "".
        run: Id of the run.
        agent: Id of the named agent that did the work.
        tool_calls: Calls that were begun.
        usage: Tokens of all model calls.
        duration_s: Seconds that it took.
        cut: Bytes of the answer that were left out.
        lacked: Tools of `RunSpec.tools` that it could not have.
    """

    text: str
    status: RunStatus
    steps: int
    error: str = ""
    run: str = ""
    agent: str = "main"
    tool_calls: int = 0
    usage: Usage = NO_USAGE
    duration_s: float = 0.0
    cut: int = 0
    lacked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegate:
    """An agent that the agent of a run may give work.

    Args:
        id: Its name.
        description: What it is for, in a line, or "".
        talks: True when the conversation can be handed over to it.
    """

    id: str
    description: str = ""
    talks: bool = True


Watch = Callable[[StreamEvent], Awaitable[None]]
"""Takes the events of a child run, as they come."""


class Runs(Protocol):
    """Child runs, with the caller's rights narrowed.

    They have no channel, no conversation and nobody to ask, and start no runs of their own. Several
    may run at the same time. Cancelling a call that started some ends them, and so does the end of
    the run that the call belongs to.
    """

    @property
    def delegates(self) -> tuple[Delegate, ...]:
        """The named agents that this run's agent may give work; none for work that was given."""
        ...

    async def start(self, spec: RunSpec, *, watch: Watch | None = None) -> RunResult:
        """Run an agent loop to its end and return what came of it.

        Args:
            spec: The run.
            watch: Takes its events; one that fails is not called again. None = nobody watches.

        Raises:
            CapabilityDeniedError: When the caller's run does not hold `orch:spawn`, or is itself
                one that another one started.
            UsageError: When the caller's agent does not delegate to the one that was named.
            PluginError: When the provider does not exist or can't be used.
            NoProviderError: When there is none at all.
        """
        ...


class Reply(Protocol):
    """The person who wrote this turn, while they are there."""

    async def send(self, message: OutboundMessage) -> None:
        """Send something beside the final reply."""
        ...

    async def ask(self, question: str) -> bool:
        """Put a yes/no question and return the answer; False when nobody answers."""
        ...


Progress = Callable[..., Awaitable[None]]
"""`await progress("Reading page 3", fraction=0.3)`; the fraction is optional."""
Invoke = Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]


@dataclass(slots=True, kw_only=True)
class ToolContext:
    """All that a call may use. Ten members, counted by a test.

    Args:
        call: The call itself.
        caller: Whom it acts for.
        plugin: The plugin's own config, secrets and folder.
        sandbox: Files and commands, narrowed to what this call may do.
        model: The run's model.
        runs: Child runs.
        reply: The person, or None when no live person is there.
        blobs: Large values.
        progress: Reports where the call is.
        invoke: Calls another tool as this caller, through the same gate.
    """

    call: CallInfo
    caller: Caller
    plugin: PluginContext
    sandbox: Sandbox
    model: ModelAccess
    runs: Runs
    reply: Reply | None
    blobs: Blobs
    progress: Progress
    invoke: Invoke
