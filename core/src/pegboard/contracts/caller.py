"""Whom a run acts for. Stamped by the host at ingress; never taken from a message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeVar

from pegboard.contracts.effects import PolicyClass, ToolKind, Trust

Origin = Literal["person", "agent", "job", "script", "mcp", "http"]
"""Who started the action: a person at a surface, an agent's run, a schedule, a script, a protocol
client."""
RunProfile = Literal["", "ultra"]
"""How much work one run may make of its request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The identity and the limits of a run. Every absent value narrows.

    Args:
        trust: `operator` or `guest`; anything absent is a guest.
        admin: True only for the local person and senders mapped to it.
        agent: Id of the named agent, or "main".
        origin: Who started the action.
        channel: Channel instance, or "".
        sender: Normalised sender id (`channel:id`), or "".
        attended: True when a present person typed or spoke this turn.
        live_reply: True when a reply reaches that person now.
        slash_commands: True when the surface has chat commands.
        surface: `terminal`, `chat`, `voice`, `editor`, `api` or "".
        continuation: True for a turn that finished background work started.
        depth: 0 at the top level; anything else is delegated.
        run_profile: `ultra` for the one turn that the owner began with `/ultra`, else "".
        job: Id of the scheduled job, or "".
        job_creator: Trust of whoever made that job, or "".
        job_tools: Canonical or short names that the job itself lists; None = it lists none.
        lease: Id of the lease that bounds the run, or "".
        tools: Names this run may use; None = no narrowing, empty = none.
        classes: Policy classes this run may use; None = those of its trust.
    """

    trust: Trust = "guest"
    admin: bool = False
    agent: str = "main"
    origin: Origin = "agent"
    channel: str = ""
    sender: str = ""
    attended: bool = False
    live_reply: bool = False
    slash_commands: bool = False
    surface: str = ""
    continuation: bool = False
    depth: int = 0
    run_profile: RunProfile = ""
    job: str = ""
    job_creator: Trust | Literal[""] = ""
    job_tools: frozenset[str] | None = None
    lease: str = ""
    tools: frozenset[str] | None = None
    classes: frozenset[PolicyClass] | None = None

    def narrow(
        self,
        *,
        tools: Iterable[str] | None = None,
        classes: Iterable[PolicyClass] | None = None,
        delegated: bool = True,
        as_guest: bool = False,
    ) -> Caller:
        """Return the caller of a child run: never more than this one.

        Args:
            tools: Names to keep; None = all that this caller has.
            classes: Policy classes to keep; None = all that this caller has.
            delegated: True for work that another agent does: one level deeper, with nobody present.
            as_guest: True to drop to guest trust.
        """
        child = replace(
            self,
            tools=_meet(self.tools, tools),
            classes=_meet(self.classes, classes),
            trust="guest" if as_guest else self.trust,
            admin=self.admin and not as_guest and not delegated,
        )
        if delegated:
            child = replace(
                child,
                depth=self.depth + 1,
                run_profile="",
                origin="agent",
                attended=False,
                live_reply=False,
                slash_commands=False,
            )
        return child


T = TypeVar("T")


def _meet(mine: frozenset[T] | None, asked: Iterable[T] | None) -> frozenset[T] | None:
    if asked is None:
        return mine
    wanted = frozenset(asked)
    return wanted if mine is None else mine & wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFilter:
    """How a call site narrows the list of tools; filters compose in the order of the fields.

    Args:
        kind: Keep one kind, or `all`.
        policy: Policy classes allowed; None = those of the caller's trust.
        denied: Policy classes denied, whatever `policy` says.
        allowed_tools: Names to keep. None = no narrowing; empty = nothing.
        excluded_names: Names to leave out.
        excluded_categories: Categories to leave out.
        mcp: Lists of MCP servers (`docs`) and single tools of one (`docs:search`). A server's tool
            is kept when every list names it or the server.
        include_hidden: True to show tools of exposure `hidden`.
    """

    kind: ToolKind | Literal["all"] = "all"
    policy: frozenset[PolicyClass] | None = None
    denied: frozenset[PolicyClass] = field(default_factory=frozenset)
    allowed_tools: frozenset[str] | None = None
    excluded_names: frozenset[str] = field(default_factory=frozenset)
    excluded_categories: frozenset[str] = field(default_factory=frozenset)
    mcp: tuple[frozenset[str], ...] = ()
    include_hidden: bool = False


NO_FILTER: Final = ToolFilter()
