"""A portable request as generateContent takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pegboard_provider_http import Echoes

from pegboard import ChatRequest, ToolDeclaration
from pegboard.providers import ToolNames, repaired
from pegboard_provider_gemini.conversation import Conversation
from pegboard_provider_gemini.generations import thinking

_MODES: Final = {"auto": "AUTO", "required": "ANY", "none": "NONE"}


async def generate_payload(
    request: ChatRequest,
    *,
    model: str,
    max_output: int | None,
    tools: Sequence[ToolDeclaration],
    names: ToolNames,
    echoes: Echoes,
    images: bool,
    show_thinking: bool,
) -> dict[str, Any]:
    """Return the body of a request.

    Args:
        request: The request.
        model: The model that is asked.
        max_output: Longest answer in tokens; None = as long as the model can.
        tools: The tools, as the dialect takes them.
        names: The way between names and aliases.
        echoes: What the provider said before in this run.
        images: True when the model takes images and files.
        show_thinking: True to ask for reasoning although the run names no effort.
    """
    conversation = Conversation(model, names, echoes, request.blobs if images else None)
    system: list[dict[str, Any]] = []
    for message in request.messages:
        if message.role != "system":
            await conversation.add(message)
        elif (text := repaired(message.text)).strip():
            system.append({"text": text})
    conversation.finish()
    payload: dict[str, Any] = {"contents": conversation.contents}
    if system:
        payload["systemInstruction"] = {"parts": system}
    if tools:
        payload["tools"] = [{"functionDeclarations": [_declared(tool) for tool in tools]}]
        payload["toolConfig"] = {"functionCallingConfig": {"mode": _MODES[request.tool_choice]}}
    settings: dict[str, Any] = {}
    if max_output is not None:
        settings["maxOutputTokens"] = max_output
    if asked := thinking(model, effort=request.effort, always=show_thinking):
        settings["thinkingConfig"] = asked
    if settings:
        payload["generationConfig"] = settings
    if isinstance(echoes.paused, Mapping):
        payload["continuationToken"] = echoes.paused.get("token")
    return payload


def _declared(tool: ToolDeclaration) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": tool.parameters,
    }
