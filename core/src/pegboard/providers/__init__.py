"""For authors of providers: event streams, failures, tool names and schemas, pieces of calls.

This module is public, like `pegboard` itself; what is not listed here is nobody else's business.
The rest of the room is what the host does with every provider's stream: laws, retries, failover,
pairing of results.
"""

from __future__ import annotations

from pegboard.providers.calls import CallAssembler
from pegboard.providers.failures import failure
from pegboard.providers.families import family_caps, limited
from pegboard.providers.retry_hints import retry_after
from pegboard.providers.schema_projection import Projected, project_tools
from pegboard.providers.sse import SseError, SseEvent, SseParser
from pegboard.providers.surrogates import TextJoiner, repaired
from pegboard.providers.tool_names import ToolNames

__all__ = [
    "CallAssembler",
    "Projected",
    "SseError",
    "SseEvent",
    "SseParser",
    "TextJoiner",
    "ToolNames",
    "failure",
    "family_caps",
    "limited",
    "project_tools",
    "repaired",
    "retry_after",
]
