"""Bodies of answers: whatever a server or a proxy on the way makes of them."""

from __future__ import annotations

import gzip
import os
import zlib

import pytest
from counterparts import Answer, scripted
from pegboard_provider_http.api import HttpApi, Timeouts

from pegboard import ProviderError

pytestmark = pytest.mark.anyio
STREAM = b'data: {"n": 1}\n\n' + b": " + b"x" * 1_000_000 + b'\n\ndata: {"n": 2}\n\n'


async def heard(answer: Answer, **options: object) -> list[object]:
    async with scripted(answer) as server:
        api = HttpApi("Test", server.url, **options)
        try:
            return [event.data async for event in api.events("chat", {})]
        finally:
            await api.aclose()


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("x-gzip", gzip.compress), ("deflate", zlib.compress)],
)
async def test_a_stream_that_was_compressed_on_the_way_is_read_whole(encoding, pack) -> None:
    packed = pack(STREAM)
    for size in (1, 7, 100_000):
        pieces = [packed[n : n + size] for n in range(0, len(packed), size)]
        answer = Answer(pieces, headers={"content-encoding": encoding})
        assert await heard(answer) == [{"n": 1}, {"n": 2}]


async def test_a_bomb_is_an_error_and_not_a_full_memory() -> None:
    bomb = gzip.compress(b"data: " + b"x" * 100_000_000)
    answer = Answer([bomb], headers={"content-encoding": "gzip"})
    with pytest.raises(ProviderError, match="larger than 67108864 bytes"):
        await heard(answer)


@pytest.mark.parametrize("encoding", ["br", "zstd", "nonsense"])
async def test_what_nobody_asked_for_is_named(encoding: str) -> None:
    with pytest.raises(ProviderError, match=encoding) as caught:
        await heard(Answer([b"x"], headers={"content-encoding": encoding}))
    assert caught.value.kind == "protocol"


async def test_json_may_begin_with_a_mark() -> None:
    answer = Answer([b'\xef\xbb\xbf{"n": 1}'], kind="application/json; charset=utf-8")
    assert await heard(answer) == [{"n": 1}]


async def test_a_body_of_json_has_an_end() -> None:
    endless = Answer([b" " * 1_000_000] * 20, kind="application/json")
    with pytest.raises(ProviderError, match="longer than 16777216 bytes"):
        await heard(endless)


async def test_what_follows_the_end_of_a_stream_is_not_waited_for() -> None:
    answer = Answer.stream({"n": 1}, stall=True)
    assert await heard(answer, timeouts=Timeouts(idle_s=60)) == [{"n": 1}]


async def test_an_error_that_never_ends_keeps_what_its_status_says() -> None:
    answer = Answer([os.urandom(1_000_000)], status="429 Slow", cut=True)
    with pytest.raises(ProviderError) as caught:
        await heard(answer)
    assert (caught.value.kind, caught.value.status) == ("rate_limit", 429)


async def test_a_connection_that_breaks_midway_is_told_otherwise_than_one_never_made() -> None:
    with pytest.raises(ProviderError, match="broke off in the middle of its answer") as caught:
        await heard(Answer([b'data: {"n": 1}\n\n'], cut=True))
    assert caught.value.kind == "network"


async def test_a_key_that_is_not_accepted_is_named_as_the_secret_that_it_is() -> None:
    for key, fix in (
        ("my_key", "pegboard secret set my_key"),
        ("env:MY_KEY", "export MY_KEY=..."),
        ("", 'name its key: api_key = "NAME" in the settings of this provider'),
    ):
        with pytest.raises(ProviderError) as caught:
            await heard(Answer.json({}, "401 Unauthorized"), key=key)
        assert caught.value.fix == fix


async def test_on_this_machine_each_request_has_a_connection_of_its_own() -> None:
    async with scripted(Answer.json({"n": 1})) as server:
        api = HttpApi("Test", server.url)
        for _ in range(3):
            assert await api.ask("GET", "x") == {"n": 1}
        assert server.connections == 3
        await api.aclose()


async def test_a_proxy_that_is_on_the_way_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    api = HttpApi("Test", "http://models.example")
    with pytest.raises(ProviderError, match="through the proxy of the environment"):
        await api.ask("GET", "x")
    await api.aclose()
