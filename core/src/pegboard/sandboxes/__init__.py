"""For authors of sandbox backends: grants, file primitives below them, and running commands.

This module is public, like `pegboard` itself. `SandboxFiles` is the file half of the contract for
every backend whose files are on this machine; `run_process` runs a command that a backend has
wrapped, and `start_live` makes of that one which goes on. What is not listed here is nobody else's
business.
"""

from __future__ import annotations

from pegboard.contracts.effects import Effects
from pegboard.contracts.sandbox import MAX_READ, Enforcement, OutputSink
from pegboard.sandboxes.access import check as check_place
from pegboard.sandboxes.bounds import Bounds, Stream
from pegboard.sandboxes.capture import Capture
from pegboard.sandboxes.closed_places import ClosedPlace
from pegboard.sandboxes.command_places import CommandPlaces, Places
from pegboard.sandboxes.confined import ConfinedFiles, open_confined
from pegboard.sandboxes.environment import FIXED, command_environment
from pegboard.sandboxes.explain import (
    grant_command,
    lacks_effect,
    not_regular,
    protected,
)
from pegboard.sandboxes.files import SandboxFiles
from pegboard.sandboxes.grantable import refused_grant
from pegboard.sandboxes.grants import GrantTable
from pegboard.sandboxes.launch import Launch, check_command
from pegboard.sandboxes.live_process import LiveProcess, abilities, start_live
from pegboard.sandboxes.paths import Parts, PathText, join, split
from pegboard.sandboxes.process import run_process
from pegboard.sandboxes.process_tree import CommandTree
from pegboard.sandboxes.protected import KEY_START, SECRETS, is_private_key, may_be_key
from pegboard.sandboxes.runs import Runs
from pegboard.sandboxes.scratch_folder import ScratchFolder

__all__ = [
    "FIXED",
    "KEY_START",
    "MAX_READ",
    "SECRETS",
    "Bounds",
    "Capture",
    "ClosedPlace",
    "CommandPlaces",
    "CommandTree",
    "ConfinedFiles",
    "Effects",
    "Enforcement",
    "GrantTable",
    "Launch",
    "LiveProcess",
    "OutputSink",
    "Parts",
    "PathText",
    "Places",
    "Runs",
    "SandboxFiles",
    "ScratchFolder",
    "Stream",
    "abilities",
    "check_command",
    "check_place",
    "command_environment",
    "grant_command",
    "is_private_key",
    "join",
    "lacks_effect",
    "may_be_key",
    "not_regular",
    "open_confined",
    "protected",
    "refused_grant",
    "run_process",
    "split",
    "start_live",
]
