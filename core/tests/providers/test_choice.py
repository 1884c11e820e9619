"""Who answers where nobody names a provider, and what is told of it."""

from __future__ import annotations

import pytest

from pegboard.config.instances import Instance
from pegboard.contracts.errors import ConfigError
from pegboard.providers.choice import announcement, chosen, how_to_set, standings


def named(name: str, *secrets: str, type: str = "") -> Instance:
    return Instance(name, "provider", type or name, f"of-{name}", {}, frozenset(secrets))


ALPHA, BETA = named("alpha", "alpha_key"), named("beta", "beta_key")
FREE, OFFLINE = named("a-free"), named("offline")


@pytest.mark.parametrize(
    ("instances", "configured", "keys", "first", "says"),
    [
        ([], (), (), None, None),
        ([ALPHA, BETA], (), (), None, None),
        ([OFFLINE, ALPHA], (), (), "offline", None),
        ([OFFLINE, ALPHA], (), ("alpha_key",), "alpha", "its key alpha_key is set."),
        ([FREE, ALPHA], (), ("alpha_key",), "alpha", "its key alpha_key is set."),
        ([FREE, OFFLINE], (), (), "a-free", "it is installed and needs no key."),
        ([ALPHA, BETA], (), ("alpha_key", "beta_key"), "alpha", "comes before beta."),
        ([ALPHA, BETA], ("beta",), ("alpha_key",), "beta", None),
        ([ALPHA, BETA], ("alpha", "beta"), (), "alpha", "[providers.alpha] sets it up, and its"),
        ([FREE, OFFLINE], ("offline",), (), "a-free", "needs no key."),
        # one that costs money goes before no other that was set up just the same
        ([FREE, ALPHA], ("a-free", "alpha"), ("alpha_key",), "a-free", "comes before alpha."),
    ],
)
def test_settings_come_first_then_keys_then_what_needs_none(
    instances, configured, keys, first, says
) -> None:
    providers = {name: {"type": name} for name in configured}
    found = standings(instances, providers, set(keys).__contains__)
    answers = chosen(found)
    assert (answers and answers.name) == first
    told = announcement(found)
    assert (told is None) == (says is None)
    assert told is None or says in told
    assert told is None or told.endswith(f"pegboard config set agent.provider {first}")


def test_a_broken_file_of_secrets_sets_no_key() -> None:
    def broken(name: str) -> bool:
        raise ConfigError(name)

    found = standings([ALPHA, OFFLINE], {}, broken)
    assert [item.name for item in found] == ["offline", "alpha"]


@pytest.mark.parametrize(
    ("secret", "told"),
    [
        ("openai_api_key", "export OPENAI_API_KEY=..."),
        ("work.key-2", "export WORK_KEY_2=..."),
        ("env:my_Key", "export my_Key=..."),
    ],
)
def test_a_key_is_set_by_its_variable(secret: str, told: str) -> None:
    assert how_to_set(secret) == told
