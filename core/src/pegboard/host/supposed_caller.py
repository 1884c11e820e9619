"""Callers as the host would stamp them, for people who ask what somebody could do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from pegboard.config.agents import MAIN
from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import ChannelInfo
from pegboard.contracts.context import NOT_DELEGATED
from pegboard.contracts.effects import POLICY_CLASSES
from pegboard.contracts.errors import PluginError, UsageError
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Outcome, Verdict
from pegboard.host.ingress import Ingress, known_caller, local_caller
from pegboard.policy.decide import decide
from pegboard.policy.derive import call_effects
from pegboard.policy.profiles import Autonomy, resolve
from pegboard.policy.rule_match import Call
from pegboard.policy.senders import Senders
from pegboard.policy.snapshot import PolicySnapshot
from pegboard.tools.access import call_access, followed
from pegboard.tools.arguments import Arguments
from pegboard.tools.exposure import reachable

if TYPE_CHECKING:
    from pegboard.host.host import Host

SupposedRole = Literal["operator", "admin", "guest"]
SupposedOrigin = Literal["person", "script", "job", "subagent", "mcp"]

ROLES: Final[tuple[SupposedRole, ...]] = get_args(SupposedRole)
ORIGINS: Final[tuple[SupposedOrigin, ...]] = get_args(SupposedOrigin)
JOB: Final = "job"
"""Stands for the id of a job."""
_TERMINAL: Final = ChannelInfo(surface="terminal", local=True, slash_commands=True)
_DELEGATED: Final = frozenset(POLICY_CLASSES) - frozenset(NOT_DELEGATED)
_STATED: Final = {item.name for item in fields(ChannelInfo)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Whom somebody asks about.

    Args:
        role: What they are; None = an operator, or what the sender's id makes them.
        origin: Who starts the action: they themselves, or something that works for them.
        channel: Instance name of the channel that they write in; None = they are at this machine.
        sender: Their id there, or None.
        agent: The named agent that answers; None = the one that would.
        attended: False when they are not there to answer a question.
        profile: The profile to suppose in `[autonomy]`; None = the one in force.
    """

    role: SupposedRole | None = None
    origin: SupposedOrigin = "person"
    channel: str | None = None
    sender: str | None = None
    agent: str | None = None
    attended: bool = True
    profile: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SupposedCaller:
    """Somebody who is supposed to ask for a tool, and what would decide about them.

    Args:
        question: What was asked.
        caller: Their identity.
        policy: What decisions are made from.
        autonomy: What the profile resolves to.
        standing: Why they are who they are; "" when that was supposed too.
        refused: The rule by which they get no turn at all, or "".
    """

    question: Question
    caller: Caller
    policy: PolicySnapshot
    autonomy: Autonomy
    standing: str = ""
    refused: str = ""

    def verdict(self, tool: RegisteredTool, call: Call | None = None) -> Verdict:
        """Return the decision about a tool, as dispatch would come to it.

        Args:
            tool: The tool.
            call: One call of it; None = could some call pass?
        """
        if self.refused:
            return Verdict(
                Outcome.DENY,
                self.refused,
                f"They get no turn at all: {self.standing}.",
                disclosed=False,
                fix="Name them in the section [policy.senders] of config.toml.",
            )
        if call is None:
            verdict = decide(self.policy, self.caller, tool)
        else:
            verdict = decide(
                self.policy,
                self.caller,
                tool,
                call.access,
                call.arguments,
                workspace=call.workspace,
            )
        if verdict.disclosed and not reachable(tool, self.caller):
            who = "models" if tool.spec.exposure == "model_only" else "scripts"
            return Verdict(
                Outcome.DENY,
                "exposure",
                f"{tool.canonical} can be called by {who} only.",
                disclosed=False,
            )
        return verdict


async def suppose(host: Host, question: Question) -> SupposedCaller:
    """Return the identity that somebody would have, and what would decide about them.

    A channel is imported only when its manifest does not say what it can do.

    Raises:
        UsageError: When there is no such channel, agent or profile, or the question contradicts
            itself.
        PluginError: When the channel can't be made.
    """
    autonomy = resolve(_autonomy_settings(host, question.profile))
    caller, standing, refused = await _person(host, question)
    if question.agent is not None:
        caller = replace(caller, agent=_known_agent(host, question.agent))
    return SupposedCaller(
        question=question,
        caller=_started(caller, question.origin),
        policy=_under(host.dispatcher.policy, autonomy),
        autonomy=autonomy,
        standing=standing,
        refused=refused,
    )


def one_call(host: Host, tool: RegisteredTool, arguments: str | Mapping[str, Any]) -> Call:
    """Return a call as the gate looks at it.

    Hooks that change arguments are not asked: nothing is imported.

    Args:
        host: Knows the workspace, which relative paths start in.
        tool: The tool.
        arguments: Its arguments, as an object or as JSON text.

    Raises:
        UsageError: When the tool would refuse the arguments.
    """
    spec = tool.spec
    checked = Arguments().check(spec, arguments)
    if checked.errors:
        raise UsageError(
            f"{tool.wire_name} would refuse this call: {'; '.join(checked.errors)}",
            fix=f"pegboard tools show {tool.wire_name}",
        )
    effects = call_effects(spec, checked.arguments)
    named = call_access(spec, checked.arguments, effects, host.workspace)
    access = followed(named, host.workspace)
    return Call(
        tool=tool, access=access, arguments=checked.arguments, workspace=str(host.workspace)
    )


def _autonomy_settings(host: Host, profile: str | None) -> Mapping[str, Any]:
    given = host.config.section("autonomy")
    return given if profile is None else {**given, "profile": profile}


def _under(policy: PolicySnapshot, autonomy: Autonomy) -> PolicySnapshot:
    return replace(
        policy,
        capabilities=autonomy.capabilities,
        script_write=autonomy.script_write,
        mcp_allow=autonomy.mcp_allow,
        asks=autonomy.asks,
    )


async def _person(host: Host, question: Question) -> tuple[Caller, str, str]:
    """Return the identity of the person behind the action, why, and what refuses them a turn."""
    channel = question.channel
    if channel is None and question.sender is not None:
        name, colon, _ = question.sender.partition(":")
        if not colon:
            raise UsageError(
                f"A sender is somebody in a channel, and {question.sender!r} names none.",
                fix=f"--channel NAME --sender {question.sender}",
            )
        channel = name
    info = _TERMINAL if channel is None else await channel_info(host, channel)
    if question.sender is not None and not info.local:
        if question.role is not None:
            raise UsageError(
                "A sender's id says who they are.", fix="leave out --as, or leave out --sender"
            )
        return _sender(host, info, str(channel), question.sender)
    role = question.role or "operator"
    if not info.local:
        return known_caller(info, channel=str(channel), sender="", role=role), "", ""
    person = local_caller(
        as_guest=role == "guest",
        surface=info.surface,
        attended=info.attended and question.attended,
        live_reply=info.live_reply and question.attended,
        slash_commands=info.slash_commands and question.attended,
    )
    return person, "", ""


def _sender(host: Host, info: ChannelInfo, channel: str, sender: str) -> tuple[Caller, str, str]:
    config = host.config
    senders = Senders.from_settings(config.section("policy"))
    ingress = Ingress(senders, config.section("channels"))
    guests = config.section(f"channels.{channel}").get("guests") is True
    standing = senders.standing(channel, ingress.type_of(channel), sender, guests=guests)
    message = InboundMessage(channel=channel, chat="", sender=sender, text="")
    if standing.role is None or standing.role == "blocked":
        refused = "sender.blocked" if standing.role else "sender.unknown"
        return ingress.caller(info, message), standing.reason, refused
    caller = known_caller(info, channel=channel, sender=standing.sender, role=standing.role)
    return caller, standing.reason, ""


async def channel_info(host: Host, name: str) -> ChannelInfo:
    """Return what a configured channel can do.

    Taken from the facts that its type states in the manifest (`surface` and others of
    `ChannelInfo`); where it states no surface the channel is made and asked.

    Raises:
        PluginError: When there is no such channel, or it can't be made.
    """
    found = host.instances.configured("channel").named(name)
    if found is not None:
        for record, fact in host.boot.contributions("channel"):
            if (record.id, fact.name) == (found.plugin, found.type) and "surface" in fact.facts:
                return stated_info(fact.facts)
    info = (await host.instance("channel", name)).info
    if not isinstance(info, ChannelInfo):
        raise PluginError(
            f"The channel {name!r} does not say what it can do.",
            fix=f"pegboard plugins why {found.plugin if found else name}",
        )
    return info


def stated_info(facts: Mapping[str, Any]) -> ChannelInfo:
    """Return what a channel type states of itself in its manifest; `surface` must be there."""
    return ChannelInfo(**{name: value for name, value in facts.items() if name in _STATED})


def _known_agent(host: Host, agent: str) -> str:
    known = [MAIN, *host.config.section("agents")]
    if agent in known:
        return agent
    from pegboard.config.nearest import did_you_mean

    raise UsageError(
        f"There is no agent {agent!r}{did_you_mean(agent, known)}",
        fix=f"There is: {', '.join(sorted(set(known)))}.",
    )


def _started(person: Caller, origin: SupposedOrigin) -> Caller:
    """Return the caller of what somebody's turn, or something they set up, starts."""
    if origin == "subagent":
        return person.narrow(classes=_DELEGATED)
    if origin == "script":
        return replace(person.narrow(), origin="script")
    if origin == "job":
        return replace(
            _nobody_there(person), origin="job", job=JOB, job_creator=person.trust, surface=""
        )
    if origin == "mcp":
        return replace(_nobody_there(person), origin="mcp", surface="api")
    return person


def _nobody_there(person: Caller) -> Caller:
    return replace(person, admin=False, attended=False, live_reply=False, slash_commands=False)
