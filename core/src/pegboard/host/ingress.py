"""Who somebody is: stamped here from the channel and the sender, never taken from a message."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pegboard.config.agents import MAIN
from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import Channel, ChannelInfo, TurnOutcome
from pegboard.contracts.message import InboundMessage
from pegboard.policy.control_plane import without_internal
from pegboard.policy.senders import Role, Senders, Standing

_log = logging.getLogger(__name__)

_MAX_TOLD: Final = 1000

IGNORED: Final = TurnOutcome(text="", status="ignored")


def local_caller(
    *,
    as_guest: bool = False,
    surface: str = "terminal",
    attended: bool = True,
    live_reply: bool | None = None,
    slash_commands: bool = False,
) -> Caller:
    """Return the identity of the person at this machine.

    Args:
        as_guest: True to act as a guest would, to see what one may do.
        surface: Where they are.
        attended: True when they are there to answer a question.
        live_reply: True when a reply reaches them now; None = when they are there.
        slash_commands: True when the surface has chat commands.
    """
    return Caller(
        trust="guest" if as_guest else "operator",
        admin=not as_guest,
        origin="person",
        channel="local",
        sender="local:person",
        attended=attended,
        live_reply=attended if live_reply is None else live_reply,
        slash_commands=slash_commands,
        surface=surface,
    )


def known_caller(
    info: ChannelInfo, *, channel: str, sender: str, role: Role, agent: str = MAIN
) -> Caller:
    """Return the identity of a sender of a channel that is not local.

    Args:
        info: What the channel can do.
        channel: Its instance name.
        sender: Normalised id.
        role: What the operator made of the sender.
        agent: Id of the agent that answers.
    """
    return Caller(
        trust="operator" if role in ("operator", "admin") else "guest",
        admin=role == "admin",
        agent=agent,
        origin="person",
        channel=channel,
        sender=sender,
        attended=info.attended,
        live_reply=info.live_reply,
        slash_commands=info.slash_commands,
        surface=info.surface,
    )


class Admission(NamedTuple):
    """What became of a message at the door.

    Args:
        message: The message as the host takes it.
        caller: Whose it is.
        refused: The rule by which it gets no turn, or "".
    """

    message: InboundMessage
    caller: Caller
    refused: str


class Ingress:
    """Stamps senders by what the operator said of them.

    Args:
        senders: The operator's map.
        channels: The section `[channels]` of the configuration.
        answering: Returns the agent that answers a message, by instance name and type of the
            channel and the sender's id; None = always the main one.
    """

    def __init__(
        self,
        senders: Senders,
        channels: Mapping[str, Any],
        answering: Callable[[str, str, str], str] | None = None,
    ) -> None:
        self._senders = senders
        self._channels = channels
        self._answering = answering
        self._told: set[str] = set()

    def take(self, senders: Senders, channels: Mapping[str, Any]) -> None:
        """Go by other settings from now on."""
        self._senders, self._channels = senders, channels

    def admitted(
        self, channel: Channel, message: InboundMessage, caller: Caller | None = None
    ) -> Admission:
        """Return a message as the host takes it, whose it is, and whether it gets a turn.

        Args:
            channel: Where it came from.
            message: What came in.
            caller: The sender's identity, where the surface knows better than the channel.
        """
        who, refused = self._stamped(channel.info, message) if caller is None else (caller, "")
        if caller is not None and caller.agent == MAIN:
            who = replace(caller, agent=self._agent(message))
        if message.metadata:
            message = replace(message, metadata=without_internal(message.metadata))
        return Admission(message, who, refused)

    def caller(self, info: ChannelInfo, message: InboundMessage) -> Caller:
        """Return the identity of a message's sender; one who gets no turn may use nothing.

        On a local channel it is the person at this machine.
        """
        return self._stamped(info, message)[0]

    def _stamped(self, info: ChannelInfo, message: InboundMessage) -> tuple[Caller, str]:
        """Return the identity of a sender, and the rule that refuses them a turn, or ""."""
        agent = self._agent(message)
        if info.local:
            person = local_caller(
                surface=info.surface,
                attended=info.attended,
                live_reply=info.live_reply,
                slash_commands=info.slash_commands,
            )
            return replace(person, agent=agent), ""
        standing = self._standing(message)
        if standing.role is None or standing.role == "blocked":
            self._tell("a message of %s is ignored: %s", standing)
            nobody = Caller(
                origin="person",
                channel=message.channel,
                sender=standing.sender,
                tools=frozenset(),
            )
            return nobody, "sender.blocked" if standing.role else "sender.unknown"
        if standing.role == "guest":
            self._tell("%s is %s", standing)
        known = known_caller(
            info,
            channel=message.channel,
            sender=standing.sender,
            role=standing.role,
            agent=agent,
        )
        return known, ""

    def _standing(self, message: InboundMessage) -> Standing:
        name = message.channel
        guests = self._settings(name).get("guests") is True
        return self._senders.standing(name, self.type_of(name), message.sender, guests=guests)

    def _agent(self, message: InboundMessage) -> str:
        """Return the agent that answers a message."""
        if self._answering is None:
            return MAIN
        name = message.channel
        return self._answering(name, self.type_of(name), message.sender)

    def type_of(self, channel: str) -> str:
        """Return the type of a channel by its instance name."""
        wanted = str(self._settings(channel).get("type", channel))
        return wanted.rpartition(":")[2]  # `plugin:type` is possible

    def _settings(self, channel: str) -> Mapping[str, Any]:
        given = self._channels.get(channel)
        return given if isinstance(given, Mapping) else {}

    def _tell(self, what: str, standing: Standing) -> None:
        """Log about a sender; as a warning only once, so that nobody can fill the log with it."""
        known = standing.sender in self._told or len(self._told) >= _MAX_TOLD
        if not known:
            self._told.add(standing.sender)
        _log.log(logging.INFO if known else logging.WARNING, what, standing.sender, standing.reason)
