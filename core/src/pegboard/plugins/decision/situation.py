"""What the decisions of boot look at, beside the plugins themselves."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from pegboard._version import __version__
from pegboard.config.load import Config
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.hook_names import API_VERSION
from pegboard.plugins.decision.failures import Failure
from pegboard.plugins.discovery.dist_info import read_bytes
from pegboard.plugins.discovery.manifest import Manifest
from pegboard.plugins.discovery.scan import FoundPlugin

BLOCKED_FILE: Final = os.path.join(os.path.dirname(__file__), "blocked.json")  # noqa: PTH118, PTH120


class Candidate(NamedTuple):
    """An installed plugin before anything is decided.

    Args:
        found: Where it is installed.
        manifest: What it contributes; None when it has none or it can't be read.
        fault: Why the manifest can't be read, or why its code could not be built into one.
        built: True when it has no file and the manifest was built from its code in memory.
    """

    found: FoundPlugin
    manifest: Manifest | None = None
    fault: PegboardError | None = None
    built: bool = False


class Block(NamedTuple):
    """A distribution that is known to do harm.

    Args:
        dist: Its name.
        below: Lowest version that is good again; "" = none is.
        reason: What is wrong with it.
        link: Where to read more.
    """

    dist: str
    below: str
    reason: str
    link: str = ""


def _stamp_of(found: FoundPlugin) -> str:
    """Return the stamp of a plugin's files; what reads it is imported only after a failure."""
    from pegboard.plugins.discovery.own_code import code_stamp

    return code_stamp(found)


class Situation(NamedTuple):
    """Everything that the decisions depend on, so that they are pure functions.

    Args:
        config: The settings.
        has_binary: Says whether a program is on PATH.
        has_secret: Says whether a secret is set.
        stamp_of: Tells whether the files of a plugin are still the same.
        disabled: Ids that the operator does not want.
        only: Ids that are asked for, or None.
        only_from: Where that was said (`PEGBOARD_PLUGINS`, or "").
        safe: True to load first-party plugins only.
        blocked: Known harmful distributions.
        failures: Failed activations by plugin id.
        retry_failed: True to give a failed (not a crashed) plugin another try.
        core_version: Version of Pegboard.
        api_version: Version of the hook API.
    """

    config: Config
    has_binary: Callable[[str], bool]
    has_secret: Callable[[str], bool]
    stamp_of: Callable[[FoundPlugin], str] = _stamp_of
    disabled: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    only_from: str = ""
    safe: bool = False
    blocked: Sequence[Block] = ()
    failures: Mapping[str, Failure] = {}
    retry_failed: bool = False
    core_version: str = __version__
    api_version: str = API_VERSION


def read_blocked(file: str = BLOCKED_FILE) -> tuple[Block, ...]:
    """Read the list that Pegboard ships."""
    entries = json.loads(read_bytes(file))["blocked"]
    return tuple(
        Block(item["dist"], item.get("below") or "", item["reason"], item.get("link", ""))
        for item in entries
    )


def binary_finder(env: Mapping[str, str] = os.environ) -> Callable[[str], bool]:
    """Return a function that says whether a program is on PATH, and remembers what it found.

    `shutil.which` does the same; importing shutil costs more than all that boot looks up.
    """
    if os.name == "nt":
        from shutil import which

        return lambda name: which(name, path=env.get("PATH")) is not None
    folders = [folder for folder in env.get("PATH", os.defpath).split(os.pathsep) if folder]
    known: dict[str, bool] = {}

    def has_binary(name: str) -> bool:
        if name not in known:
            files = [os.path.join(folder, name) for folder in folders]  # noqa: PTH118
            known[name] = any(os.path.isfile(file) and os.access(file, os.X_OK) for file in files)  # noqa: PTH113
        return known[name]

    return has_binary
