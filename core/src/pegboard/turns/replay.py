"""What earlier attempts of a turn said and did, read back from its record."""

from __future__ import annotations

from pegboard.agent.news import with_news
from pegboard.contracts.message import CallResult, Message, ToolCall
from pegboard.contracts.news import NewsItem
from pegboard.providers.pairing import step_messages
from pegboard.tools.render import call_result
from pegboard.turns.journal import TurnJournal


async def replayed(journal: TurnJournal) -> tuple[list[Message], tuple[NewsItem, ...]]:
    """Return the messages of a turn that does not go on, and what its model was told at first.

    A call without an end was cancelled.

    Raises:
        StoreError: When what is kept can't be read.
    """
    messages: list[Message] = []
    opening: tuple[NewsItem, ...] = ()
    step = 1
    while (answer := await journal.answered(step)) is not None:
        done = answer.done
        if messages:
            messages[-1] = with_news(messages[-1], answer.news)
        else:
            opening = answer.news
        if done.calls:
            results = {call.id: await _result(journal, call) for call in done.calls}
            found = {id: result for id, result in results.items() if result is not None}
            messages.extend(step_messages(done.text, done.calls, found))
        elif done.text.strip():
            messages.append(Message.of("assistant", done.text))
        step += 1
    return messages, opening


async def _result(journal: TurnJournal, call: ToolCall) -> CallResult | None:
    result = await journal.known(call.id, call.name, call.arguments)
    return None if result is None else call_result(call.id, call.name, result)
