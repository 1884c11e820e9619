from __future__ import annotations

import itertools

from pegboard.contracts.message import InboundMessage
from pegboard.conversations.key import ConversationKey


def test_a_key_is_channel_chat_and_thread() -> None:
    message = InboundMessage(channel="slack", chat="C1", sender="U1", text="Hi", thread="170.5")
    key = ConversationKey.of(message)
    assert key == ConversationKey("slack", "C1", "170.5")
    assert str(key) == "slack/C1/170.5"


def test_the_root_of_a_chat_is_no_thread() -> None:
    assert ConversationKey("terminal", "local").text == "terminal/local"


def test_different_keys_have_different_texts() -> None:
    words = ["", "a", "a/b", "/", "%2F", "root", "修", "a b"]
    keys = [ConversationKey(*parts) for parts in itertools.product(words, repeat=3)]
    assert len({key.text for key in keys}) == len(keys)


def test_half_a_character_is_a_key_like_any_other() -> None:
    assert ConversationKey("chat", "\udcff").text != ConversationKey("chat", "?").text
