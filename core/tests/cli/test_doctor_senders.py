"""Senders who are nobody, because the table names the type of their channel."""

from __future__ import annotations


def test_a_sender_named_with_the_type_of_a_channel_is_found(here):
    here.write_config(
        """
        [channels.work]
        type = "kit:discord"

        [channels.irc]
        type = "irc"

        [policy.senders]
        "Discord: 123" = "admin"
        "work:123" = "admin"
        "irc:ann" = "operator"
        "other:7" = "guest"
        "55" = "blocked"
        """
    )
    ended = here.run("doctor", "--json")
    (found,) = [item for item in ended.json["checks"] if item["about"] == "senders"]
    assert found["level"] == "warning"
    assert "'Discord: 123'" in found["message"]
    assert found["fix"] == 'write "work:123"'
