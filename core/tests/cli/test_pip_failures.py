"""What pip's words mean to a person who wants a plugin."""

from __future__ import annotations

import sys

import pytest

from pegboard.cli.plugins.pip_failures import is_unexplained, reason
from pegboard.plugins.discovery.first_party import FIRST_PARTY

THIS = ".".join(str(part) for part in sys.version_info[:2])


def nothing(name: str, before: str = "") -> str:
    return (
        f"{before}\nERROR: Could not find a version that satisfies the requirement {name} "
        f"(from versions: none)\nERROR: No matching distribution found for {name}\n"
    )


NO_WHEEL = (
    "  Skipping link: none of the wheel's tags (cp39-cp39-win_amd64) are compatible (run pip debug "
    "--verbose to show compatible tags): https://files/acme-1.0-cp39-cp39-win_amd64.whl\n"
    "ERROR: No matching distribution found for acme\n"
)
RETRY = (
    "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by "
    "'NewConnectionError('<pip._vendor...>: Failed to establish a new connection')': /simple/acme/"
)
PYTHON = (
    "ERROR: Ignored the following versions that require a different python version: "
    "1.0 Requires-Python >=3.99; 1.1 Requires-Python >=3.99"
)
REFUSED = "ERROR: 401 Client Error: Unauthorized for url: https://index/acme.whl"
HASHES = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you"
TLS = "WARNING: Retrying (x) after 'SSLError(SSLCertVerificationError(1, 'CERTIFICATE_VERIFY_FAILED"
LISTED = nothing("acme==9").replace("versions: none", "versions: 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 2.0")


@pytest.mark.parametrize(
    ("name", "said", "asked", "message", "fix"),
    [
        ("acme", nothing("acme"), nothing("acme"), "no package named acme", "check the spelling"),
        (
            "pegboard-wbe",
            nothing("pegboard-wbe"),
            nothing("pegboard-wbe"),
            "no package named pegboard-wbe",
            "pegboard plugins install pegboard-web",
        ),
        (
            "pegboard-web",
            nothing("pegboard-web"),
            nothing("pegboard-web"),
            "no package named pegboard-web",
            "check the spelling",
        ),
        (
            "acme",
            nothing("acme"),
            "acme (2.0)\nAvailable versions: 2.0, 1.0\n",
            "published as source only (2.0, 1.0)",
            "pegboard plugins install --allow-build acme",
        ),
        ("acme", nothing("acme"), NO_WHEEL, "wheels for other machines", f"wheel of Python {THIS}"),
        ("acme==9", LISTED, "", "No version of acme is ==9", "pegboard plugins install acme==2.0"),
        ("acme==9", LISTED, "", "there are 2 older ones and 1.2, 1.3, 1.4, 1.5, 2.0.", "acme"),
        ("acme", nothing("acme", PYTHON), "", "acme 1.1 needs Python >=3.99;", "Python >=3.99"),
        ("acme", nothing("acme", RETRY), "", "index can't be reached", "check the network"),
        ("acme", nothing("acme"), RETRY, "index can't be reached", "given by its path"),
        ("acme", nothing("acme", TLS), "", "certificate", "global.cert"),
        ("acme", HASHES, "", "not what the index promised", "pip cache purge"),
        ("acme", nothing("acme", REFUSED), "", "(HTTP 401)", "credentials"),
        ("x.whl", "error: externally-managed-environment", "", "operating system", "-m venv"),
        ("x.whl", "OSError: [Errno 28] No space left on device", "", "disk is full", "pip cache"),
        ("x.whl", "OSError: [Errno 13] Permission denied: '/usr'", "", "be written", "-m venv"),
    ],
)
def test_each_way_to_fail_is_told_apart(name, said, asked, message, fix):
    found = reason(name, said, asked, FIRST_PARTY)
    assert found is not None
    assert message in found.message
    assert fix in found.fix


def test_what_is_not_known_is_left_to_pips_own_words():
    assert reason("acme", "ERROR: ResolutionImpossible") is None


@pytest.mark.parametrize(
    ("said", "expected"), [(nothing("x"), True), (nothing("x", RETRY), False), (LISTED, False)]
)
def test_pip_is_asked_again_only_where_it_may_know_more(said, expected):
    assert is_unexplained(said) is expected
