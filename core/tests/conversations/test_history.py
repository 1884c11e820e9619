from __future__ import annotations

from pegboard.contracts.message import CallResult, Message, ToolCall, tool_message
from pegboard.contracts.result import Text
from pegboard.conversations.history import History
from pegboard.conversations.key import ConversationKey

KEY = ConversationKey("terminal", "local")


def turn(name: str, results: int = 0, size: int = 10) -> list[Message]:
    calls = tuple(ToolCall(f"{name}-{n}", "read", "{}") for n in range(results))
    group = [
        Message("assistant", calls=calls),
        tool_message([CallResult(call.id, "read", (Text("x" * size),)) for call in calls]),
    ]
    return [
        Message.of("user", name),
        *(group if results else []),
        Message.of("assistant", f"re {name}"),
    ]


def test_turns_come_back_in_order_and_apart_by_conversation() -> None:
    history, other = History(), ConversationKey("terminal", "other")
    history.commit(KEY, turn("one"))
    history.commit(other, turn("else"))
    history.commit(KEY, turn("two"))
    assert [m.text for m in history.messages(KEY)] == ["one", "re one", "two", "re two"]
    assert [m.text for m in history.messages(other)] == ["else", "re else"]


def test_old_turns_go_whole_so_that_no_call_parts_from_its_results() -> None:
    history = History(max_chars=1000)
    history.commit(KEY, turn("old", results=7, size=100))
    assert history.commit(KEY, turn("new", results=7, size=100)) == 1
    messages = history.messages(KEY)
    assert messages[0].text == "new"
    assert len(messages[2].results) == 7


def test_the_number_of_messages_is_bounded() -> None:
    history = History(max_messages=5)
    dropped = [history.commit(KEY, turn(str(n))) for n in range(4)]
    assert dropped == [0, 0, 1, 1]
    assert [m.text for m in history.messages(KEY)][::2] == ["2", "3"]


def test_the_newest_turn_stays_even_when_it_alone_is_too_long() -> None:
    history = History(max_chars=10)
    history.commit(KEY, turn("long", results=3, size=1000))
    assert history.messages(KEY)[0].text == "long"


def test_a_cleared_conversation_is_empty() -> None:
    history = History()
    history.commit(KEY, turn("one"))
    history.clear(KEY)
    history.clear(KEY)
    assert history.messages(KEY) == ()
    assert history.keys() == ()
