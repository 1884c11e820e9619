"""News of a turn whose host dies between telling them and forgetting them."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from pegboard.agent.news import with_news
from pegboard.contracts.clock import SystemClock
from pegboard.contracts.news import NewsItem
from pegboard.host.news_board import NewsBoard
from pegboard.testing.model import Call, ScriptedModel
from pegboard.turns.news import TurnNews
from pegboard.turns.replay import replayed

World = runpy.run_path(str(Path(__file__).with_name("journal_world.py")))["World"]

pytestmark = pytest.mark.anyio
TOLD = "[Meanwhile: p1 ended.]"


class Killed(BaseException):
    """The host dies."""


class Dying(NewsBoard):
    """Dies when news were told: the answer to them is written, and they still wait."""

    async def told(self, conversation: str, items: Any) -> None:
        if items:
            raise Killed


def carrying(messages: Any) -> int:
    return str(messages).count(TOLD)


@pytest.mark.parametrize("opening", [True, False])
async def test_who_takes_it_up_reads_the_same_and_forgets_them(
    tmp_path: Path, opening: bool
) -> None:
    world = World(tmp_path)
    board = NewsBoard(tmp_path / "news", SystemClock())
    item = NewsItem(id="shell:1", text="p1 ended.")

    @world.add(effects={"read"})
    async def look(ctx: Any) -> str:
        """Look, while something ends."""
        if not opening:
            await board.leave("desk/1", item, trust="operator")
        return "seen"

    if opening:
        await board.leave("desk/1", item, trust="operator")
    script = [Call("look"), Call("look", id="c2"), "Done."]
    dying = Dying(tmp_path / "news", SystemClock())
    async with world.attempt():
        with pytest.raises(Killed):
            await world.run(ScriptedModel(script), news=TurnNews(dying, "desk/1", "operator"))
    await dying.aclose()
    assert len(await board.due("desk/1", "operator")) == 1
    async with world.attempt():
        said, first = await replayed(world.journal)
        assert carrying(said) + len(first) == 1
    async with world.attempt():
        model = ScriptedModel(script[1 if opening else 2 :])
        result = await world.run(model, news=TurnNews(board, "desk/1", "operator"))
    assert [carrying(request.messages) for request in model.requests] == [1] * len(model.requests)
    assert carrying(result.messages) == (0 if opening else 1)
    await board.aclose()


def test_a_message_without_news_is_the_same() -> None:
    from pegboard.contracts.message import Message

    message = Message.of("user", "Hello")
    assert with_news(message, ()) is message
