"""How many tokens messages take, about: for what no provider has counted yet."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from pegboard.contracts.message import Message
from pegboard.contracts.result import Part, Text

_CHARS_PER_TOKEN: Final = 3.5
"""Measured on English prose (about 4) and source code (about 3.3)."""
_WIDE_CHARS_PER_TOKEN: Final = 1.5
"""Other scripts take more tokens for a character: up to one each."""
_MESSAGE: Final = 4
_CALL: Final = 12
RESULT: Final = 50
"""What surrounds one result on the wire."""
IMAGE: Final = 1_500


def text_tokens(text: str) -> int:
    """Return about how many tokens a text takes."""
    if text.isascii():
        return math.ceil(len(text) / _CHARS_PER_TOKEN)
    wide = sum(character > "\x7f" for character in text)
    return math.ceil((len(text) - wide) / _CHARS_PER_TOKEN + wide / _WIDE_CHARS_PER_TOKEN)


def parts_tokens(parts: Iterable[Part]) -> int:
    """Return about how many tokens the content of a message or a result takes."""
    return sum(text_tokens(part.text) if isinstance(part, Text) else IMAGE for part in parts)


def message_tokens(message: Message) -> int:
    """Return about how many tokens a message takes, its calls and results included."""
    calls = sum(_CALL + text_tokens(call.name + call.arguments) for call in message.calls)
    results = sum(RESULT + parts_tokens(result.parts) for result in message.results)
    return _MESSAGE + parts_tokens(message.parts) + calls + results


def tokens_of(messages: Iterable[Message]) -> int:
    """Return about how many tokens messages take."""
    return sum(map(message_tokens, messages))
