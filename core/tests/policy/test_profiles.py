"""Profiles and their switches, as the operator writes them."""

from __future__ import annotations

import pytest

from pegboard.contracts.capability import CAPABILITIES
from pegboard.contracts.errors import ConfigError
from pegboard.policy.profiles import PROFILES, resolve
from pegboard.policy.snapshot import PolicySnapshot


def test_the_assistant_holds_nothing_whatever_is_switched_on():
    assert resolve({"profile": "assistant", "browse": True}).capabilities == frozenset()


@pytest.mark.parametrize("profile", ["standard", "unattended", "max"])
def test_the_others_hold_all_but_browse_which_has_a_switch(profile):
    every = set(CAPABILITIES)
    assert resolve({"profile": profile}).capabilities == every - {"orch:browse"}
    assert resolve({"profile": profile, "browse": True}).capabilities == every


def test_standard_is_what_is_not_said_and_opens_no_surface():
    found = resolve()
    assert found == resolve({"profile": "standard"})
    assert (found.script_write, found.mcp_allow, found.asks, found.refusals) == (
        False,
        frozenset(),
        True,
        None,
    )


def test_unattended_asks_nobody_and_counts_refusals():
    found = resolve({"profile": "unattended"})
    assert (found.asks, found.refusals) == (False, 5)
    assert resolve({"profile": "unattended", "denial_breaker": 2}).refusals == 2
    for profile in set(PROFILES) - {"unattended"}:
        assert resolve({"profile": profile, "denial_breaker": 2}).refusals is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"profil": "max"}, "did you mean 'profile'"),
        ({"profile": "standart"}, "did you mean 'standard'"),
        ({"write": "yes"}, "must be true or false"),
        ({"mcp": {"alow": {}}}, "did you mean 'allow'"),
        ({"mcp": {"allow": {"docs": "search"}}}, "must be a list"),
        ({"denial_breaker": 0}, "at least 1"),
    ],
)
def test_what_does_not_exist_is_refused_with_a_suggestion(settings, words):
    with pytest.raises(ConfigError, match=words):
        resolve(settings)


def test_settings_reach_the_snapshot():
    found = PolicySnapshot.from_settings(
        scripts={"allow": ["web:fetch"]},
        autonomy=resolve(
            {"profile": "unattended", "write": True, "mcp": {"allow": {"docs": ["a", "b"]}}}
        ),
    )
    assert found.script_tools == {"web:fetch"}
    assert found.script_write
    assert found.mcp_allow == {("docs", "a"), ("docs", "b")}
    assert not found.asks
    assert PolicySnapshot.from_settings().capabilities == resolve().capabilities
