"""Who somebody is: stamped here from the channel and the sender, never taken from a message."""

from __future__ import annotations

from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import ChannelInfo
from pegboard.contracts.message import InboundMessage


def local_caller(
    *, as_guest: bool = False, surface: str = "terminal", attended: bool = True
) -> Caller:
    """Return the identity of the person at this machine.

    Args:
        as_guest: True to act as a guest would, to see what one may do.
        surface: Where they are.
        attended: True when they are there to answer a question.
    """
    return Caller(
        trust="guest" if as_guest else "operator",
        admin=not as_guest,
        origin="person",
        channel="local",
        sender="local:person",
        attended=attended,
        live_reply=attended,
        slash_commands=attended,
        surface=surface,
    )


def channel_caller(info: ChannelInfo, message: InboundMessage) -> Caller:
    """Return the identity of a message's sender: the owner on a local channel, else a guest."""
    if info.local:
        return local_caller(surface=info.surface, attended=info.attended)
    return Caller(
        trust="guest",
        origin="person",
        channel=message.channel,
        sender=f"{message.channel}:{message.sender}",
        attended=info.attended,
        live_reply=info.live_reply,
        slash_commands=info.slash_commands,
        surface=info.surface,
    )
