from __future__ import annotations

import itertools

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from pegboard.plugins.discovery.versions import lowest, read_requirement, satisfies, version_key

VERSIONS = [
    *("0.1.0", "0.1.0.dev4", "1", "1.0", "1.0.0", "1.0a1", "1.0alpha", "1.0rc1", "1.0c1"),
    *("1.0.post1", "1.0-1", "1.0.rev2", "1.1", "1.2.3", "1.4", "1.4.2.dev1", "1.4.5", "1.10"),
    *("2", "2.0.dev1", "2.0a1", "2.0a1.dev2", "2.0b2", "2.0rc1", "2.0.post1", "2.0.post1.dev3"),
    *("1!1.0", "v1.0", "99"),
]
OPERATORS = ("==", "!=", "<=", ">=", "<", ">", "~=")


def test_versions_sort_as_packaging_sorts_them():
    for one, two in itertools.product(VERSIONS, repeat=2):
        assert (version_key(one) < version_key(two)) == (Version(one) < Version(two)), (one, two)
        assert (version_key(one) == version_key(two)) == (Version(one) == Version(two)), (one, two)


@pytest.mark.parametrize("operator", OPERATORS)
def test_ranges_hold_what_packaging_says_they_hold(operator):
    for version, bound in itertools.product(VERSIONS, repeat=2):
        if operator == "~=" and "." not in bound:
            continue
        wanted = f"{operator}{bound}"
        expected = SpecifierSet(wanted).contains(version, prereleases=True)
        assert satisfies(version, wanted) == expected, (version, wanted)


@pytest.mark.parametrize("operator", ["==", "!="])
def test_wildcards_hold_what_packaging_says_they_hold(operator):
    for version, bound in itertools.product(VERSIONS, ("1", "1.0", "1.4", "2", "0.1", "1!1")):
        wanted = f"{operator}{bound}.*"
        expected = SpecifierSet(wanted).contains(version, prereleases=True)
        assert satisfies(version, wanted) == expected, (version, wanted)


def test_all_clauses_of_a_range_must_hold():
    assert satisfies("1.5", " >= 1 , < 2 ")
    assert not satisfies("2", ">=1,<2")
    assert satisfies("2", "")
    assert satisfies("1.0+local", "==1.0")
    assert satisfies("1.0+local", "===1.0+LOCAL")


@pytest.mark.parametrize(
    "wanted", ["1.0", ">=", ">=1 <2", "=>1", ">=one", "~=1", ">=1.*", "^1", ">=1;<2"]
)
def test_a_range_that_is_none_is_refused(wanted):
    with pytest.raises(ValueError):
        satisfies("1.0", wanted)


def test_the_highest_lower_bound_tells_who_is_too_old():
    assert lowest(">=1,>=1.4,<2") == "1.4"
    assert lowest("<2") is None
    assert lowest("==2.*") == "2"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pegboard", ("pegboard", "", "")),
        ("pegboard>=0.1,<0.2", ("pegboard", ">=0.1,<0.2", "")),
        ("pegboard[new] (>=1)", ("pegboard", ">=1", "")),
        ("Pegboard ; extra == 'x'", ("Pegboard", "", "extra == 'x'")),
        ("pegboard @ https://x/y", ("pegboard", "", "")),
    ],
)
def test_requirements_are_split(line, expected):
    assert read_requirement(line) == expected


def test_a_requirement_without_a_name_is_refused():
    with pytest.raises(ValueError):
        read_requirement(">=1")
