"""The commands that go on between calls, and whose they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio

from pegboard import Process, SandboxError, ToolContext, ToolFailure
from pegboard_shell.screen import TerminalScreen

if TYPE_CHECKING:
    from pegboard_shell.endings import Endings

Kind = Literal["process", "terminal"]
Owner = tuple[str, str]
MOST_OF_ONE: Final = 8
"""Commands that one conversation may have running at the same time."""
MOST: Final = 64
"""Commands that run at the same time in one host."""
_REMEMBERED: Final = 20
"""Commands of one conversation that have ended and can still be read."""
_LETTERS: Final[dict[Kind, str]] = {"process": "p", "terminal": "t"}


@dataclass(slots=True, kw_only=True, eq=False)
class Handle:
    """One command that was started.

    Args:
        name: What the model calls it: `p1`, `t2`.
        kind: Whether it has a terminal.
        process: The command.
        command: Its source, as the model wrote it.
        description: What it is for, or "".
        effects: What it may do.
        begun: `Clock.monotonic()` value when it was started.
        screen: What its terminal shows, or None.
        read_to: Offset up to which its output was shown.
        seen: True when the model was shown that it has ended.
        telling: Held while its end is told, or taken in as seen.
        news: Conversation and id of what is left to tell of its end, or None.
    """

    name: str
    kind: Kind
    process: Process
    command: str
    description: str
    effects: frozenset[str]
    begun: float
    screen: TerminalScreen | None = None
    read_to: int = 0
    seen: bool = False
    telling: anyio.Lock = field(default_factory=anyio.Lock)
    news: tuple[str, str] | None = None

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        try:
            return self.process.ended is None
        except SandboxError:
            return False


@dataclass(slots=True, eq=False)
class HandleTable:
    """What was started by whom. A handle is found by those alone whose it is.

    Args:
        endings: Tells of those that end.
    """

    endings: Endings
    _owned: dict[Owner, dict[str, Handle]] = field(default_factory=dict)
    _counts: dict[tuple[Owner, Kind], int] = field(default_factory=dict)

    def require_room(self, ctx: ToolContext) -> None:
        """Refuse one more than may run.

        Raises:
            ToolFailure: When there are as many already.
        """
        own = [handle for handle in self.of(ctx) if handle.running]
        everybody = sum(
            handle.running for table in self._owned.values() for handle in table.values()
        )
        if len(own) < MOST_OF_ONE and everybody < MOST:
            return
        names = ", ".join(handle.name for handle in own)
        raise ToolFailure(
            f"Too many commands run in the background already: {names or 'those of others'}.",
            fix='End one: process(action="kill", handle=...)' if own else "Wait until some end.",
            code="too_many_processes",
        )

    async def add(
        self,
        ctx: ToolContext,
        kind: Kind,
        process: Process,
        *,
        command: str,
        description: str,
        screen: TerminalScreen | None = None,
    ) -> Handle:
        """Give a command a name, and forget the oldest of those that have long ended."""
        owner = owner_of(ctx)
        number = self._counts[owner, kind] = self._counts.get((owner, kind), 0) + 1
        handle = Handle(
            name=f"{_LETTERS[kind]}{number}",
            kind=kind,
            process=process,
            command=command,
            description=description,
            effects=frozenset(ctx.call.effects),
            begun=ctx.plugin.clock.monotonic(),
            screen=screen,
        )
        own = self._owned.setdefault(owner, {})
        own[handle.name] = handle
        ended = [name for name, old in own.items() if not old.running]
        for name in ended[:-_REMEMBERED]:
            del own[name]
        await self.endings.follow(ctx, handle)
        return handle

    async def saw(self, ctx: ToolContext, shown: Iterable[Mapping[str, Any]]) -> None:
        """Take in that the model is shown commands, some of which have ended.

        Args:
            ctx: The call that shows them.
            shown: The facts of each.
        """
        ended = {facts["handle"] for facts in shown if not facts["running"]}
        for handle in self.of(ctx):
            if handle.name in ended:
                await self.endings.saw(handle)

    def of(self, ctx: ToolContext) -> list[Handle]:
        """Return what belongs to whoever calls, oldest first."""
        return list(self._owned.get(owner_of(ctx), {}).values())

    def find(self, ctx: ToolContext, name: str, kind: Kind) -> Handle:
        """Return a command of whoever calls.

        Raises:
            ToolFailure: When there is none of that name; that of somebody else is none.
        """
        own = self._owned.get(owner_of(ctx), {})
        handle = own.get(name.strip())
        if handle is not None and (handle.kind == kind or kind == "process"):
            return handle
        names = [one.name for one in own.values() if kind in ("process", one.kind)]
        known = ", ".join(names) or "none"
        raise ToolFailure(
            f"There is no {kind} {name!r} here. There are: {known}.",
            fix="Name one of these, or start it again: none outlives its host.",
            code="not_found",
        )

    async def end(self) -> None:
        """End all that still runs."""
        async with anyio.create_task_group() as tasks:
            for handle in self._everything():
                if handle.running:
                    tasks.start_soon(_stop, handle)

    def _everything(self) -> Iterator[Handle]:
        for table in self._owned.values():
            yield from table.values()


def owner_of(ctx: ToolContext) -> Owner:
    """Return whose a command is: the conversation's, else the caller's; the run's if delegated."""
    caller = ctx.caller
    if caller.depth:
        return (f"run {ctx.call.run}", caller.trust)
    if ctx.call.conversation:
        return (f"conversation {ctx.call.conversation}", caller.trust)
    return (f"{caller.origin} {caller.channel} {caller.sender} {caller.agent}", caller.trust)


def require_rights(ctx: ToolContext, handle: Handle) -> None:
    """Refuse to steer a command that may do more than this call.

    Raises:
        ToolFailure: When it does.
    """
    more = sorted(handle.effects - ctx.call.effects)
    if more:
        raise ToolFailure(
            f"{handle.name} was started by a run that may do more than this one: "
            f"{', '.join(more)}.",
            fix="Start another one.",
            code="not_allowed",
        )


async def _stop(handle: Handle) -> None:
    try:
        await handle.process.stop()
    except SandboxError:
        return  # it was closed with its sandbox
