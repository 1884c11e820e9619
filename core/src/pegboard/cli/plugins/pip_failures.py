"""Why pip did not bring a package, in one sentence, and what to do about that."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Final, NamedTuple

from pegboard.config.nearest import nearest
from pegboard.plugins.discovery.scan import OWN_PREFIX

_NONE: Final = "(from versions: none)"
_VERSIONS: Final = re.compile(r"\(from versions: ([^)\n]+)\)")
_AVAILABLE: Final = re.compile(r"^Available versions: (.+)$", re.MULTILINE)
_PYTHON: Final = re.compile(r"\d[^\s;]* Requires-Python [^;\n]+")
_STATUS: Final = re.compile(r"\b(4\d\d|5\d\d) (?:Client|Server) Error|HTTP error (\d{3})")
_NO_WHEEL: Final = "none of the wheel's tags"
_SHOWN: Final = 5
"""The newest versions that a message names."""

_NETWORK: Final = (
    "Retrying (",
    "NewConnectionError",
    "ConnectTimeout",
    "ReadTimeout",
    "Temporary failure in name resolution",
    "ProxyError",
    "Max retries exceeded",
)
_CERTIFICATE: Final = ("CERTIFICATE_VERIFY_FAILED", "SSLError", "SSLCertVerificationError")


class Reason(NamedTuple):
    """Why pip failed, and what to do."""

    message: str
    fix: str


def is_unexplained(said: str) -> bool:
    """Say whether pip found no version at all, which it says of very different things."""
    return _NONE in said and _known(said) is None


def reason(name: str, said: str, asked: str = "", ids: Iterable[str] = ()) -> Reason | None:
    """Return why pip did not bring a package; None when its own words must do.

    Args:
        name: What was asked for, e.g. `pegboard-web>=2`.
        said: What pip said.
        asked: What `pip index versions` said of the package's bare name, where `said` leaves open
            whether it exists.
        ids: Plugins whose packages a person may have meant.
    """
    known = _known(said) or _known(asked)
    if known is not None:
        return known
    python = _PYTHON.findall(said) or _PYTHON.findall(asked)
    versions = _listed(said)
    if python and not versions:
        return _other_python(name, python)
    if versions:
        return _other_version(name, versions)
    if _NONE not in said:
        return None
    available = _AVAILABLE.search(asked)
    if available is not None:
        return _source_only(name, available[1].split(", "))
    if _NO_WHEEL in asked:
        return Reason(
            f"{bare(name)} has wheels for other machines or Pythons only, and no source.",
            f"ask who ships {bare(name)} for a wheel of Python {_this()} on {sys.platform}",
        )
    return _missing(bare(name), ids)


def bare(name: str) -> str:
    """Return the name of a package without extras and version."""
    return re.split(r"[\s\[<>=!~;]", name, maxsplit=1)[0]


def _known(said: str) -> Reason | None:
    """Return what certain words of pip mean, whichever package it is about."""
    if "DO NOT MATCH THE HASHES" in said or "BadHash" in said:
        return Reason(
            "What arrived is not what the index promised: its hash is another one. Nothing was "
            "installed.",
            "pip cache purge, then again; if it stays so, tell those who run the index",
        )
    if any(word in said for word in _CERTIFICATE):
        return Reason(
            "The certificate of the package index can't be verified.",
            "pip config set global.cert FILE, with the certificates that your network uses",
        )
    if any(word in said for word in _NETWORK):
        return Reason(
            "The package index can't be reached.",
            "check the network and the proxy, then again; a wheel can be given by its path",
        )
    status = _STATUS.search(said)
    if status is not None and (status[1] or status[2]) != "404":
        return Reason(
            f"The package index refuses to answer (HTTP {status[1] or status[2]}).",
            "pip config list: look at index-url and its credentials",
        )
    if "externally-managed-environment" in said:
        return Reason(
            "This Python belongs to the operating system, which lets pip install nothing into it.",
            "python3 -m venv ~/pegboard, and install Pegboard in there",
        )
    if "No space left on device" in said:
        return Reason("The disk is full.", "pip cache purge")
    if "Permission denied" in said:
        return Reason(
            f"The environment of {sys.executable} can't be written.",
            "python3 -m venv ~/pegboard, and install Pegboard in there",
        )
    return None


def _listed(said: str) -> list[str]:
    found = _VERSIONS.search(said)
    return [] if found is None or found[1] == "none" else found[1].split(", ")


def _other_version(name: str, versions: list[str]) -> Reason:
    more = f"{len(versions) - _SHOWN} older ones and " if len(versions) > _SHOWN else ""
    return Reason(
        f"No version of {bare(name)} is {name[len(bare(name)) :].strip() or 'possible'}; there are "
        f"{more}{', '.join(versions[-_SHOWN:])}.",
        f"pegboard plugins install {bare(name)}=={versions[-1]}",
    )


def _other_python(name: str, ignored: list[str]) -> Reason:
    wanted = ignored[-1].partition("Requires-Python ")[2].strip()
    return Reason(
        f"{bare(name)} {ignored[-1].split(' ')[0]} needs Python {wanted}; this is {_this()}.",
        f"install Pegboard with a Python {wanted}, or an older {bare(name)}",
    )


def _source_only(name: str, versions: list[str]) -> Reason:
    return Reason(
        f"{bare(name)} is published as source only ({', '.join(versions[:_SHOWN])}): its "
        "code would run before it could be inspected.",
        f"pegboard plugins install --allow-build {name}",
    )


def _missing(name: str, ids: Iterable[str]) -> Reason:
    near = nearest(name.lower().removeprefix(OWN_PREFIX), ids)
    return Reason(
        f"There is no package named {name} where pip looks for one.",
        f"pegboard plugins install {OWN_PREFIX}{near}"
        if near and f"{OWN_PREFIX}{near}" != name
        else "check the spelling; `pip config list` shows where pip looks",
    )


def _this() -> str:
    return ".".join(str(part) for part in sys.version_info[:2])
