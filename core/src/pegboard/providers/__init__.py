"""For authors of providers: event streams, failures, tool names and schemas, pieces of calls.

This module is public, like `pegboard` itself; what is not listed here is nobody else's business.
The rest of the room is what the host does with every provider's stream: laws, retries, failover,
pairing of results.
"""

from __future__ import annotations

from pegboard.contracts.errors import ModelFileError
from pegboard.providers.calls import CallAssembler
from pegboard.providers.failures import failure
from pegboard.providers.families import family_caps, limited
from pegboard.providers.gguf import GgufFacts, read_gguf
from pegboard.providers.model_files import AddedModel, ModelFiles
from pegboard.providers.retry_hints import retry_after
from pegboard.providers.schema_projection import Projected, project_tools
from pegboard.providers.sse import SseError, SseEvent, SseParser
from pegboard.providers.surrogates import TextJoiner, repaired
from pegboard.providers.tool_names import ToolNames

__all__ = [
    "AddedModel",
    "CallAssembler",
    "GgufFacts",
    "ModelFileError",
    "ModelFiles",
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
    "read_gguf",
    "repaired",
    "retry_after",
]
