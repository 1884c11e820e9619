"""Who a channel's sender is to the operator: one id has many spellings, and only one standing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

Role = Literal["operator", "admin", "guest", "blocked"]

_MAX_ID: Final = 256


class _Form(NamedTuple):
    """How one kind of channel writes ids: what is one, and what of its spelling does not count."""

    pattern: re.Pattern[str]
    plain: Callable[[str], str]
    wanted: str


def _matrix(text: str) -> str:
    """Fold the server only: two old accounts may differ in the case of their names."""
    name, colon, server = text.partition(":")
    return f"{name}{colon}{server.lower()}"


def _mail(text: str) -> str:
    return text.removeprefix("mailto:").strip("<>").lower()


_ANY: Final = _Form(re.compile(r"\S+"), str, "an id without spaces")
_FORMS: Final[Mapping[str, _Form]] = {
    "telegram": _Form(re.compile(r"-?[0-9]+"), str, "a number"),
    "slack": _Form(re.compile(r"[UWB][A-Z0-9]+"), str.upper, "a member id like U024BE7LH"),
    "matrix": _Form(re.compile(r"@[^\s:]+:\S+"), _matrix, "a user id like @name:server"),
    "email": _Form(re.compile(r"[^\s@<>]+@[^\s@<>]+"), _mail, "an address like name@server"),
}
"""Type of a channel -> how it writes ids. Any other type takes an id as it is, case included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Who a sender is.

    Args:
        sender: Normalised id, `channel:id`.
        role: What the operator made of them; None = the sender gets no turn.
        reason: Why, for the log.
    """

    sender: str
    role: Role | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Senders:
    """The operator's map of senders. Never changes.

    Args:
        roles: `channel:id` or `id`, in any spelling -> role.
    """

    roles: Mapping[str, Role]

    @classmethod
    def from_settings(cls, policy: Mapping[str, Any] | None = None) -> Senders:
        """Read `senders` of the section `[policy]` of the configuration."""
        return cls(roles=dict((policy or {}).get("senders", {})))

    def standing(self, channel: str, type: str, id: str, *, guests: bool = False) -> Standing:
        """Return who a sender is.

        An entry for the channel counts before one for all channels, and `blocked` before both. An
        id in a form that its channel does not have can't be anybody's whom the operator named.

        Args:
            channel: Instance name of the channel.
            type: Type of the channel, or "".
            id: The sender's id as the channel gives it.
            guests: True when the channel lets in whom nobody has named.
        """
        plain = sender_id(channel, type, id)
        sender = f"{channel}:{id.strip()[:_MAX_ID] if plain is None else plain}"
        if plain is None:
            wanted = _FORMS.get(type, _ANY).wanted
            return _unnamed(sender, f"{id[:_MAX_ID]!r} is not {wanted}", guests=guests)
        found = self._entries(channel, type, plain)
        if "blocked" in found.values():
            return Standing(sender=sender, role="blocked", reason="blocked by [policy.senders]")
        role = found.get("own") or found.get("all")
        if role is None:
            return _unnamed(sender, "[policy.senders] does not name them", guests=guests)
        return Standing(sender=sender, role=role, reason=f"{role} by [policy.senders]")

    def _entries(self, channel: str, type: str, plain: str) -> dict[str, Role]:
        """Return the entries that mean this id: the channel's `own`, and that for `all`."""
        found: dict[str, Role] = {}
        for place, key in naming(self.roles, channel, type, plain):
            role = self.roles[key]
            found[place] = stricter(role, found.get(place, role))
        return found


_RANK: Final[Mapping[Role, int]] = {"admin": 0, "operator": 1, "guest": 2, "blocked": 3}


def stricter(one: Role, other: Role) -> Role:
    """Return the role that may do less."""
    return max(one, other, key=_RANK.__getitem__)


def normalized(channel: str, type: str, id: str) -> str | None:
    """Return the one spelling of an id on a channel, or None when it has not the channel's form.

    `123`, ` 123 ` and `tg:123` are one on the channel `tg`.

    Args:
        channel: Instance name of the channel.
        type: Type of the channel, or "".
        id: An id with or without the channel's name in front.
    """
    text = id.strip()
    if _has_prefix(channel, text):
        text = text.partition(":")[2].strip()
    form = _FORMS.get(type, _ANY)
    plain = form.plain(text)
    return plain if len(plain) <= _MAX_ID and form.pattern.fullmatch(plain) else None


def sender_id(channel: str, type: str, id: str) -> str | None:
    """Return the one spelling of an id that a channel gave, or None when it has not its form.

    Beside that of the channel, the name of its type may be in front: on the channel `work` of the
    type `discord`, `discord:123` is `123`. In a table it can't, for `discord:123` there names the
    channel `discord`, and two channels of a type may not mean one person by an id.

    Args:
        channel: Instance name of the channel.
        type: Type of the channel, or "".
        id: The id as the channel gives it.
    """
    if type and _has_prefix(type, id):
        id = id.partition(":")[2]
    return normalized(channel, type, id)


def naming(
    keys: Iterable[str], channel: str, type: str, plain: str
) -> Iterator[tuple[Literal["own", "all"], str]]:
    """Yield the keys of a table that mean an id, each with whether it names the channel too.

    Args:
        keys: `channel:id` or `id`, in any spelling.
        channel: Instance name of the channel.
        type: Type of the channel, or "".
        plain: The id, normalised.
    """
    for key in keys:
        if normalized(channel, type, key) == plain:
            yield ("own" if _has_prefix(channel, key) else "all"), key


def _has_prefix(channel: str, text: str) -> bool:
    name, _, rest = text.partition(":")
    return bool(rest.strip()) and name.strip().lower() == channel.lower()


def _unnamed(sender: str, reason: str, *, guests: bool) -> Standing:
    if guests:
        return Standing(sender=sender, role="guest", reason=f"a guest: {reason}")
    reason = f"{reason}, and their channel takes no guests"
    return Standing(sender=sender, role=None, reason=reason)
