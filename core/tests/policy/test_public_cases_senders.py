"""One person under every id that a channel gives them, and nobody else under it."""

from __future__ import annotations

import pytest

from pegboard.policy.senders import Senders, sender_id

OWNER = Senders(roles={"123": "operator"})


@pytest.mark.parametrize("channel", ["work", "discord"])
@pytest.mark.parametrize("id", ["123", " 123 ", "discord:123", "Discord: 123"])
def test_the_type_of_a_channel_in_front_of_an_id_makes_nobody_else(channel, id):
    found = OWNER.standing(channel, "discord", id)
    assert (found.sender, found.role) == (f"{channel}:123", "operator")


def test_in_a_table_the_name_in_front_is_that_of_a_channel_and_never_of_a_type():
    named = Senders(roles={"irc:ann": "admin"})
    assert named.standing("irc", "irc", "ann").role == "admin"
    assert named.standing("other-network", "irc", "ann").role is None
    assert named.standing("other-network", "irc", "irc:ann").role is None


def test_an_id_of_an_unknown_form_is_a_guests_with_the_reason():
    found = OWNER.standing("tg", "telegram", "telegram:@owner", guests=True)
    assert (found.sender, found.role) == ("tg:telegram:@owner", "guest")
    assert "is not a number" in found.reason


def test_a_channel_without_a_type_has_none_in_front():
    assert sender_id("c", "", ":123") == ":123"
    assert sender_id("c", "", "c:123") == "123"
