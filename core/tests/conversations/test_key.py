from __future__ import annotations

import itertools

import pytest

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


def test_a_named_agent_has_conversations_of_its_own() -> None:
    message = InboundMessage(channel="slack", chat="C1", sender="U1", text="Hi")
    key = ConversationKey.of(message, "research")
    assert key.text == "@research/slack/C1"
    assert ConversationKey.of(message).text == "slack/C1"


def test_a_key_comes_back_from_its_text() -> None:
    words = ["", "a", "a/b", "@a", "@main", "%40", "\udcff", "main", "修"]
    for parts in itertools.product(words, repeat=3):
        for agent in ("main", "research", "a/b", "@x"):
            key = ConversationKey(*parts, agent=agent)
            assert ConversationKey.read(key.text) == key


@pytest.mark.parametrize("text", ["", "a", "a/b/", "a/b/c/d", "@main/a/b", "a b/c", "a/%", "a/%ff"])
def test_another_text_is_no_key(text: str) -> None:
    with pytest.raises(ValueError, match="key"):
        ConversationKey.read(text)
