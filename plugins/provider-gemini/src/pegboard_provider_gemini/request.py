"""A portable request as generateContent takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pegboard_provider_http.exchange import Question

from pegboard import ToolDeclaration
from pegboard_provider_gemini.conversation import Conversation
from pegboard_provider_gemini.generations import thinking

_MODES: Final = {"auto": "AUTO", "required": "ANY", "none": "NONE"}


async def generate_payload(
    question: Question, *, max_output: int | None, show_thinking: bool
) -> dict[str, Any]:
    """Return the body of a request.

    Args:
        question: What is asked.
        max_output: Longest answer in tokens that is wanted; None = as long as the model can.
        show_thinking: True to ask for reasoning although the run names no effort.
    """
    request, tools, echoes = question.request, question.tools, question.echoes
    conversation = Conversation(question.model, question.names, echoes, question.blobs)
    for message in question.spoken:
        await conversation.add(message)
    conversation.finish()
    payload: dict[str, Any] = {"contents": conversation.contents}
    if system := [{"text": text} for text in question.system]:
        payload["systemInstruction"] = {"parts": system}
    if tools:
        payload["tools"] = [{"functionDeclarations": [_declared(tool) for tool in tools]}]
        payload["toolConfig"] = {"functionCallingConfig": {"mode": _MODES[request.tool_choice]}}
    settings: dict[str, Any] = {}
    if max_output is not None:
        settings["maxOutputTokens"] = min(max_output, question.caps.max_output)
    if asked := thinking(question.model, effort=request.effort, always=show_thinking):
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
