from __future__ import annotations

import pytest

from pegboard.contracts.turn import TurnRef
from pegboard.conversations.key import ConversationKey
from pegboard.turns.open_channels import OpenChannels


def ref(key: str, channel: str = "desk") -> TurnRef:
    return TurnRef(turn="t", key=key, seq=1, channel=channel)


@pytest.fixture
def channels() -> OpenChannels:
    return OpenChannels()


def test_a_named_channel_takes_every_chat_while_it_is_open(channels, chat_channel) -> None:
    desk = chat_channel()
    assert not channels.accepts(ref("desk/1"))
    with channels.named("desk", desk):
        assert channels.of(ref("desk/1")) is desk
        assert channels.of(ref("@research/desk/2/t")) is desk
        assert not channels.accepts(ref("other/1", "other"))
    assert not channels.accepts(ref("desk/1"))


def test_a_channel_may_take_one_chat_only(channels, chat_channel) -> None:
    class Mine(chat_channel):
        def takes(self, chat):
            return chat == "1"

    with channels.named("desk", Mine()):
        assert channels.accepts(ref("desk/1"))
        assert not channels.accepts(ref("desk/2"))


def test_a_lent_channel_takes_one_conversation(channels, chat_channel) -> None:
    mine = chat_channel()
    with channels.lent(ConversationKey("desk", "1"), mine) as new:
        assert new
        assert channels.of(ref("desk/1")) is mine
        assert not channels.accepts(ref("desk/2"))
        assert not channels.accepts(ref("desk/1/thread"))
        with channels.lent(ConversationKey("desk", "1"), chat_channel()) as new:
            assert not new
        assert channels.of(ref("desk/1")) is mine
    assert not channels.accepts(ref("desk/1"))


def test_what_was_opened_last_is_used_and_the_other_one_after_it(channels, chat_channel) -> None:
    class Same(chat_channel):
        def __eq__(self, other):
            return True

        __hash__ = None

    first, second = Same(), Same()
    with channels.named("desk", first):
        with channels.named("desk", second):
            assert channels.of(ref("desk/1")) is second
        assert channels.of(ref("desk/1")) is first


def test_a_key_that_is_none_is_not_accepted(channels, chat_channel) -> None:
    with channels.named("desk", chat_channel()):
        assert not channels.accepts(ref("desk"))
