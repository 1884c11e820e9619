from __future__ import annotations

import time

import anyio
import pytest

from pegboard.cli.status import duration
from pegboard.contracts.approval import Approval
from pegboard.contracts.turn import Incoming
from pegboard.store.embedded import open_store
from pegboard.testing.dists import built


def incoming(turn: str, key: str, text: str) -> Incoming:
    channel, chat = key.split("/")
    return Incoming(
        turn=turn,
        key=key,
        channel=channel,
        chat=chat,
        message={"text": text},
        caller={},
        at=time.time(),
    )


async def fill(state) -> None:
    """Leave an open turn, one that was given up, a reply in doubt and a question."""
    store = await open_store(state)
    now = time.time()
    for turn, key in (("t1", "tg/1"), ("t2", "tg/2"), ("t3", "tg/3"), ("t4", "tg/4")):
        await store.ingest(incoming(turn, key, f"the text of {turn}"))
    await store.begin("t2", now=now, max_attempts=1)
    await store.aclose()  # as if it had died
    store = await open_store(state)
    begun = await store.begin("t2", now=now, max_attempts=1)
    error = {"code": "turn_dead", "message": "given up", "fix": None}
    await store.finish("t2", begun.turn.fence, state="dead", now=now, error=error)
    begun = await store.begin("t3", now=now, max_attempts=3)
    fence = begun.turn.fence
    await store.reply("t3", fence, [{"text": "was it sent?"}], now=now)
    await store.sending("t3", fence, 0, now=now)
    await store.doubt("t3", 0, now=now)
    await store.finish("t3", fence, state="failed", now=now)
    begun = await store.begin("t4", now=now, max_attempts=3)
    await store.ask(
        Approval(
            turn="t4",
            call="c",
            key="tg/4",
            tool="shop:pay",
            subject="s",
            question="Pay 7?",
            rule="r",
            token="abcd2345",
            asked_at=now,
            expires_at=now + 600,
        )
    )
    await store.wait("t4", begun.turn.fence, until=now + 600)
    await store.aclose()


def test_without_anything_it_says_so(here) -> None:
    ended = here.run("status")
    assert ended.code == 0, ended.err
    assert "No host is running" in ended.out
    assert here.run("status", "--json").json["host"] is None
    assert here.run("status", "--ready").code == 1
    assert not (here.home / "state").exists(), "it only looks"


def test_what_needs_an_eye_is_told_without_a_host(here) -> None:
    anyio.run(fill, here.home / "state")
    found = here.run("status", "--json").json["store"]
    assert found["open_turns"] == 2
    assert {item["turn"] for item in found["open"]} == {"t1", "t4"}
    assert found["dead_turns"] == 1
    assert found["dead"][0]["text"] == "the text of t2"
    assert [item["text"] for item in found["doubtful"]] == ["was it sent?"]
    assert [item["token"] for item in found["questions"]] == ["abcd2345"]
    assert found["size"] > 0
    shown = here.run("status").out
    for part in ("the text of t1", "Given up", "was it sent?", "Pay 7?", "abcd2345", "/confirm"):
        assert part in shown


ELSEWHERE = """
from pegboard import Plugin
from pegboard.contracts.errors import StoreError
from pegboard.engine import folder_backend

plugin = Plugin()


class Gone:
    archive = None

    async def open(self, settings, clock, **options):
        raise StoreError("No server answers.", fix="start the server")

    async def aclose(self):
        pass


@plugin.backend("elsewhere")
def elsewhere(context, settings):
    return folder_backend(context.data_dir)


@plugin.backend("gone")
def gone(context, settings):
    return Gone()
"""


def test_what_another_backend_keeps_is_told_and_not_what_is_in_the_file(here) -> None:
    built(here.plugin("elsewhere", code=ELSEWHERE, manifest=None))
    anyio.run(fill, here.home / "data" / "plugins" / "elsewhere")
    here.write_config('[store]\nbackend = "elsewhere"\n')
    found = here.run("status", "--json").json["store"]
    assert "problem" not in found, found
    assert (found["backend"], found["size"], found["open_turns"]) == ("elsewhere", None, 2)
    assert {item["text"] for item in found["open"]} == {"the text of t1", "the text of t4"}
    assert [item["token"] for item in found["questions"]] == ["abcd2345"]
    assert [item["text"] for item in found["doubtful"]] == ["was it sent?"]
    shown = here.run("status").out
    for part in ("elsewhere", "the text of t1", "was it sent?", "Pay 7?"):
        assert part in shown
    assert " MB" not in shown


def test_a_backend_that_can_not_be_opened_is_told_with_its_fix(here) -> None:
    built(here.plugin("elsewhere", code=ELSEWHERE, manifest=None))
    here.write_config('[store]\nbackend = "gone"\n')
    ended = here.run("status")
    assert ended.code == 1
    assert "It can't be read: No server answers." in ended.out
    assert "start the server" in ended.out
    told = here.run("status", "--json").json["store"]
    assert told["problem"] == {"message": "No server answers.", "fix": "start the server"}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (59, "59 s"),
        (3_600, "1 h 0 min"),
        (7_500, "2 h 5 min"),
        (200_000, "2 d 7 h"),
    ],
)
def test_how_long(seconds: float, text: str) -> None:
    assert duration(seconds) == text
