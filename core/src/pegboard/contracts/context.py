"""What a tool, and a plugin, may reach. No host, no registry, no store, nobody else's config."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from logging import Logger
from pathlib import Path
from typing import Any, Protocol

from pegboard.contracts.blob import Blobs
from pegboard.contracts.caller import Caller
from pegboard.contracts.capability import Capability
from pegboard.contracts.clock import Clock
from pegboard.contracts.effects import Effects
from pegboard.contracts.message import Message, OutboundMessage
from pegboard.contracts.provider import ModelAnswer
from pegboard.contracts.result import ToolResult
from pegboard.contracts.sandbox import Sandbox
from pegboard.contracts.tool import Tool


@dataclass(slots=True, kw_only=True)  # plain: two are made for every call
class CallInfo:
    """The call that a tool is answering.

    Args:
        id: Unique within the run.
        run: Id of the run.
        turn: Id of the turn, or "".
        conversation: Key of the conversation, or "".
        attempt: 1, or more when recovery runs the call again.
        idempotency_key: The same for every attempt of this call.
        deadline: `Clock.monotonic()` value at which the call is stopped.
        effects: What this call may do: declared, narrowed by the caller.
        workspace: The folder of the run.
    """

    id: str
    run: str
    turn: str = ""
    conversation: str = ""
    attempt: int = 1
    idempotency_key: str = ""
    deadline: float = 0.0
    effects: Effects = frozenset()
    workspace: Path = Path()


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
    """What a plugin's own code may use: its config, secrets and folder, the clock, a log."""

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
    """A child run that a tool starts.

    Args:
        prompt: What it shall do.
        system: Its system prompt, or "" for the default of a worker.
        tools: Names it may use; None = all that the caller has.
        capabilities: Capabilities it asks for; None = all that the caller's run holds. It never
            gets others than those.
        max_steps: Model calls at most.
        timeout_s: Seconds at most.
    """

    prompt: str
    system: str = ""
    tools: tuple[str, ...] | None = None
    capabilities: tuple[Capability, ...] | None = None
    max_steps: int = 40
    timeout_s: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What a child run came to. `status` is `done`, `failed`, `timed_out` or `cancelled`."""

    text: str
    status: str
    steps: int
    error: str = ""


class Runs(Protocol):
    """Child runs, with the caller's rights narrowed."""

    async def start(self, spec: RunSpec) -> RunResult:
        """Run an agent loop to its end and return its answer."""
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
