"""For authors of sandbox backends: grants, file primitives below them, and running commands.

This module is public, like `pegboard` itself. `SandboxFiles` is the file half of the contract for
every backend whose files are on this machine; `run_process` runs a command that a backend has
wrapped. What is not listed here is nobody else's business.
"""

from __future__ import annotations

from pegboard.contracts.effects import Effects
from pegboard.contracts.sandbox import MAX_READ, Enforcement, OutputSink
from pegboard.sandboxes.capture import Capture
from pegboard.sandboxes.closed_places import ClosedPlace
from pegboard.sandboxes.command_places import CommandPlaces, Places
from pegboard.sandboxes.environment import command_environment
from pegboard.sandboxes.explain import grant_command, lacks_effect
from pegboard.sandboxes.files import SandboxFiles
from pegboard.sandboxes.grantable import refused_grant
from pegboard.sandboxes.grants import GrantTable
from pegboard.sandboxes.process import Launch, run_process
from pegboard.sandboxes.protected import SECRETS
from pegboard.sandboxes.runs import Runs

__all__ = [
    "MAX_READ",
    "SECRETS",
    "Capture",
    "ClosedPlace",
    "CommandPlaces",
    "Effects",
    "Enforcement",
    "GrantTable",
    "Launch",
    "OutputSink",
    "Places",
    "Runs",
    "SandboxFiles",
    "command_environment",
    "grant_command",
    "lacks_effect",
    "refused_grant",
    "run_process",
]
