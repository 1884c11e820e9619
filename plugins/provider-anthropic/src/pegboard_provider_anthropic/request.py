"""A portable request as Messages takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pegboard_provider_http.exchange import Question

from pegboard import ChatRequest, ToolDeclaration
from pegboard.providers import ToolNames
from pegboard_provider_anthropic.caching import mark
from pegboard_provider_anthropic.conversation import Conversation, text_block
from pegboard_provider_anthropic.reasoning import reasoning

_CHOICES: Final = {"auto": "auto", "required": "any", "none": "none"}
_GONE: Final = "This tool can't be called now."


async def messages_payload(question: Question, *, cache: bool, thinking: bool) -> dict[str, Any]:
    """Return the body of a request.

    Args:
        question: What is asked.
        cache: True to let the service cache what repeats.
        thinking: True to ask for reasoning although the run names no effort.
    """
    request, tools, names = question.request, question.tools, question.names
    # the service wants to be told
    max_output = min(request.max_output or question.caps.max_output, question.caps.max_output)
    conversation = Conversation(names, question.echoes, question.blobs)
    for message in question.spoken:
        await conversation.add(message)
    conversation.finish()
    system = [text_block(text) for text in question.system]
    if cache:
        mark(system, conversation.messages)
    payload: dict[str, Any] = {
        "model": question.model,
        "max_tokens": max_output,
        "messages": conversation.messages,
        "stream": True,
    }
    if system:
        payload["system"] = system
    payload |= _tools(request, tools, names)
    payload |= reasoning(
        question.model,
        effort=request.effort,
        always=thinking,
        max_output=max_output,
        forced=bool(tools) and request.tool_choice == "required",
        unsigned=conversation.unsigned,
    )
    return payload


def _tools(
    request: ChatRequest, tools: Sequence[ToolDeclaration], names: ToolNames
) -> dict[str, Any]:
    """Return the declared tools; calls in the conversation need theirs though none can be made."""
    if tools:
        declared: list[dict[str, Any]] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in tools
        ]
        return {"tools": declared, "tool_choice": {"type": _CHOICES[request.tool_choice]}}
    called = dict.fromkeys(call.name for message in request.messages for call in message.calls)
    if not called:
        return {}
    stubs: list[dict[str, Any]] = [
        {"name": names.alias(name), "description": _GONE, "input_schema": {"type": "object"}}
        for name in called
    ]
    return {"tools": stubs, "tool_choice": {"type": "none"}}
