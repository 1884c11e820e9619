from __future__ import annotations

import pytest

from pegboard.plugins.decision.checks import is_id
from pegboard.plugins.decision.kinds import KINDS
from pegboard.plugins.discovery.first_party import (
    COMMAND_PACKAGES,
    FIRST_PARTY,
    SERVICE_PACKAGES,
    TYPE_PACKAGES,
    is_first_party,
    package_of,
)


def test_an_id_counts_only_in_the_distribution_of_its_own_name():
    assert is_first_party("files", "pegboard-files")
    assert is_first_party("sandbox-local", "Pegboard_Sandbox.Local")
    assert not is_first_party("files", "evil-files")
    assert not is_first_party("weather", "pegboard-weather")


def test_the_package_of_an_id_is_known_for_first_party_only():
    assert package_of("files") == "pegboard-files"
    assert package_of("weather") is None


def test_every_package_that_is_suggested_is_a_first_party_one():
    suggested = {*COMMAND_PACKAGES.values(), *SERVICE_PACKAGES.values()}
    for types in TYPE_PACKAGES.values():
        suggested.update(types.values())
    assert {name.removeprefix("pegboard-") for name in suggested} <= FIRST_PARTY
    assert set(TYPE_PACKAGES) <= set(KINDS)


@pytest.mark.parametrize("plugin_id", sorted(FIRST_PARTY))
def test_every_first_party_id_is_one(plugin_id):
    assert is_id(plugin_id)
