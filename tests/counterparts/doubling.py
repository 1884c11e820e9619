"""A plugin with one tool, for turns with a call in them."""

from __future__ import annotations

from pegboard import Plugin

doubling = Plugin(summary="Doubles")
MATHS = {"maths": doubling}
"""The plugin as a host takes it inline."""


@doubling.tool(effects={"read"})
async def double(number: int) -> str:
    """Double a number."""
    return str(number * 2)
