"""What was said, as people read it: as text for a terminal and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from pegboard.cli.sessions.find import to_json, when
from pegboard.contracts.result import ToolResult
from pegboard.contracts.tool import OutputLimits
from pegboard.contracts.wire import MESSAGE
from pegboard.tools.fence import unfenced
from pegboard.tools.limits import cut

if TYPE_CHECKING:
    from pegboard.contracts.message import Message
    from pegboard.contracts.result import Part
    from pegboard.contracts.transcript import Conversation, TurnMessages

_SHOWN: Final = OutputLimits(chars=1_500, lines=20, keep="both")
"""How much of a result is shown in a terminal."""
_TICKS: Final = re.compile(r"`{3,}")


def plain(turn: TurnMessages) -> Iterator[str]:
    """Yield a turn as lines of text; long results are shortened."""
    yield f"[{turn.seq}] {when(turn.at)}"
    for message in map(MESSAGE.read, turn.messages):
        text = _text(message.parts)
        if text:
            yield f"{_who(message)}: {text}"
        for call in message.calls:
            yield f"  {call.name} {call.arguments}"
        for result in message.results:
            shown = _text(result.parts)
            shorter = cut(shown, _SHOWN)
            shown = shown if shorter is None else shorter.text("")
            mark = "error" if result.error else "result"
            yield "\n".join(f"    {line}" for line in f"{mark}: {shown}".splitlines())


def markdown(conversation: Conversation, turns: Iterable[TurnMessages]) -> Iterator[str]:
    """Yield a conversation as lines of Markdown; nothing is shortened."""
    facts = to_json(conversation)
    yield f"# {' '.join(conversation.title.split()) or facts['id']}"
    yield ""
    yield f"- id: `{facts['id']}`"
    yield f"- key: `{conversation.key}`"
    yield f"- began: {when(conversation.created_at)}, last: {when(conversation.updated_at)}"
    for turn in turns:
        yield ""
        yield f"## {turn.seq}, {when(turn.at)}"
        for message in map(MESSAGE.read, turn.messages):
            yield from _markdown_of(message)


def _markdown_of(message: Message) -> Iterator[str]:
    text = _text(message.parts)
    if text:
        yield from ("", f"**{_who(message)}:**", "", text)
    for call in message.calls:
        yield from ("", f"Call of `{call.name}`:", "", *_fenced(call.arguments, "json"))
    for result in message.results:
        what = "Error" if result.error else "Result"
        yield from ("", f"{what} of `{result.name}`:", "", *_fenced(_text(result.parts), ""))


def _fenced(text: str, language: str) -> tuple[str, str, str]:
    """Return a block of code whose end nothing in it can be taken for."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}", text, ticks


def _who(message: Message) -> str:
    return "person" if message.role == "user" else "agent"


def _text(parts: tuple[Part, ...]) -> str:
    # a person sees by themselves what came from outside
    return unfenced(ToolResult(parts).text)
