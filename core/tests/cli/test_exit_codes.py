from __future__ import annotations

from collections.abc import Iterator

from pegboard.cli import exit_codes
from pegboard.contracts.errors import PegboardError


def _kinds(kind: type[PegboardError] = PegboardError) -> Iterator[type[PegboardError]]:
    yield kind
    for sub in kind.__subclasses__():
        yield from _kinds(sub)


def test_every_error_ends_with_a_code_that_help_explains():
    assert {kind.exit_code for kind in _kinds()} <= set(exit_codes.NAMES)


def test_no_code_has_two_meanings():
    codes = [
        value for name, value in vars(exit_codes).items() if name.isupper() and name != "NAMES"
    ]
    assert sorted(codes) == sorted(exit_codes.NAMES)
