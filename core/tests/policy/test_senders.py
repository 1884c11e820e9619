"""Senders: one person in many spellings, and strangers that nobody let in."""

from __future__ import annotations

import pytest

from pegboard.policy.senders import Senders, naming, normalized, stricter


def senders(**roles):
    return Senders.from_settings({"senders": roles})


OWNER = Senders(roles={"tg:123": "operator"})


@pytest.mark.parametrize("spelling", ["123", " 123 ", "tg:123", "TG:123", "tg: 123\n"])
def test_an_owner_is_recognised_in_every_spelling(spelling):
    found = OWNER.standing("tg", "telegram", spelling)
    assert (found.sender, found.role) == ("tg:123", "operator")
    written = Senders(roles={spelling: "operator"})
    assert written.standing("tg", "telegram", "123").role == "operator"


@pytest.mark.parametrize(
    "form", ["", " ", "@owner", "12 3", "0x7b", "123;", "१२३", "tg:", "1" * 999]
)
def test_a_form_that_the_channel_does_not_have_is_nobodys(form):
    every = Senders(roles={form: "operator", "tg:123": "operator"})
    found = every.standing("tg", "telegram", form)
    assert found.role is None
    assert found.sender == f"tg:{form.strip()[:256]}"
    assert "is not a number" in found.reason
    guest = every.standing("tg", "telegram", form, guests=True)
    assert guest.role == "guest"
    assert "is not a number" in guest.reason


def test_a_stranger_is_ignored_unless_the_channel_takes_guests():
    found = OWNER.standing("tg", "telegram", "999")
    assert found.role is None
    assert "takes no guests" in found.reason
    assert OWNER.standing("tg", "telegram", "999", guests=True).role == "guest"


def test_an_entry_for_one_channel_is_for_no_other():
    assert OWNER.standing("tg2", "telegram", "123").role is None
    assert senders(**{"123": "guest"}).standing("tg2", "telegram", "123").role == "guest"


def test_the_entry_for_the_channel_counts_and_blocked_counts_most():
    both = senders(**{"123": "guest", "tg:123": "admin"})
    assert both.standing("tg", "telegram", "123").role == "admin"
    assert both.standing("tg2", "telegram", "123").role == "guest"
    blocked = senders(**{"123": "blocked", "tg:123": "admin"})
    assert blocked.standing("tg", "telegram", "123", guests=True).role == "blocked"


def test_of_two_spellings_with_two_roles_the_stricter_counts():
    for roles in (
        {"tg:123": "admin", "TG: 123": "guest"},
        {"TG: 123": "guest", "tg:123": "admin"},
    ):
        assert Senders(roles=roles).standing("tg", "telegram", "123").role == "guest"
    assert stricter("operator", "blocked") == stricter("blocked", "operator") == "blocked"


@pytest.mark.parametrize(
    ("type", "id", "plain"),
    [
        ("slack", "u024be7lh", "U024BE7LH"),
        ("matrix", "@Ann:Example.ORG", "@Ann:example.org"),
        ("email", "mailto:Ann@Example.org", "ann@example.org"),
        ("email", "<ann@example.org>", "ann@example.org"),
        ("irc", "Ann", "Ann"),
        ("", "c: Ann", "Ann"),
        ("", "c", "c"),
        ("", "c:", "c:"),
        ("", ":c", ":c"),
        ("slack", "not-an-id", None),
        ("matrix", "ann", None),
        ("email", "ann", None),
        ("irc", "two words", None),
    ],
)
def test_each_kind_of_channel_has_its_own_spelling(type, id, plain):
    assert normalized("c", type, id) == plain


def test_case_counts_where_two_people_may_differ_in_nothing_else():
    owner = senders(**{"c:@ann:x.org": "operator", "d:ann": "operator"})
    assert owner.standing("c", "matrix", "@Ann:x.org").role is None
    assert owner.standing("c", "matrix", "@ann:X.ORG").role == "operator"
    assert owner.standing("d", "irc", "Ann").role is None


def test_without_settings_nobody_is_named():
    assert Senders.from_settings().standing("tg", "telegram", "123").role is None


def test_an_id_may_be_as_long_as_256_characters():
    assert normalized("tg", "telegram", "1" * 256) == "1" * 256
    assert normalized("tg", "telegram", "1" * 257) is None


def test_a_key_names_a_channel_only_with_an_id_behind_it():
    keys = ["7", "tg:7", " TG : 7 ", "other:7", "tg:", ":7", "tg:8"]
    assert list(naming(keys, "tg", "telegram", "7")) == [
        ("all", "7"),
        ("own", "tg:7"),
        ("own", " TG : 7 "),
    ]
    assert list(naming(["tg:"], "tg", "", "tg:")) == [("all", "tg:")]
