"""Who can reach a tool at all; it only subtracts from what policy allows."""

from __future__ import annotations

from pegboard.contracts.caller import Caller
from pegboard.contracts.tool import RegisteredTool


def reachable(tool: RegisteredTool, caller: Caller) -> bool:
    """Tell whether a caller can call a tool by name.

    A script can't call what is for models only, and nobody but a script what is for scripts only.
    Hidden tools are a matter of filters.
    """
    exposure = tool.spec.exposure
    if caller.origin == "script":
        return exposure != "model_only"
    return exposure != "codemode"


def declarable(tool: RegisteredTool) -> bool:
    """Tell whether a tool is declared to a model without being searched for."""
    return tool.spec.exposure in ("direct", "model_only")
