"""Requests to real servers on this machine: what they answer, and what goes wrong."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import pytest
from httpx import AsyncHTTPTransport
from pegboard_provider_http.api import Event, HttpApi, Timeouts, finish, is_local

from pegboard import ProviderError

pytestmark = pytest.mark.anyio
Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]
KEY = "sk-very-secret"


class Server:
    """Answers every request in one way and remembers what was asked."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.gone = asyncio.Event()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        self.heads.append(head)
        length = next(
            (
                int(line[15:])
                for line in head.lower().split("\r\n")
                if line.startswith("content-len")
            ),
            0,
        )
        self.bodies.append(await reader.readexactly(length))
        try:
            await self.answer(writer)
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            self.gone.set()
            writer.close()


@asynccontextmanager
async def serving(answer: Answer, **options: Any) -> AsyncIterator[tuple[HttpApi, Server]]:
    made = Server(answer)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    api = HttpApi(
        "Test",
        f"http://127.0.0.1:{made.port}/v1/",
        headers={"authorization": f"Bearer {KEY}"},
        secrets=[KEY],
        **options,
    )
    try:
        yield api, made
    finally:
        await api.aclose()
        server.close()


def says(
    body: bytes, *, status: str = "200 OK", kind: str = "text/event-stream", **headers: str
) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)

    return answer


async def heard(api: HttpApi) -> list[Event]:
    return [event async for event in api.events("chat", {"a": 1})]


async def test_events_arrive_parsed_until_the_stream_says_that_it_is_done() -> None:
    body = b'event: x\ndata: {"n": 1}\n\ndata: {"n": 2}\n\ndata: [DONE]\n\ndata: {"n": 3}\n\n'
    async with serving(says(body)) as (api, server):
        assert await heard(api) == [Event({"n": 1}, "x"), Event({"n": 2})]
    assert server.heads[0].startswith("POST /v1/chat HTTP/1.1")
    assert "accept-encoding: identity" in server.heads[0].lower()
    assert json.loads(server.bodies[0]) == {"a": 1}


async def test_json_in_place_of_a_stream_is_one_event() -> None:
    async with serving(says(b'{"error": "odd"}', kind="application/json")) as (api, _):
        assert await heard(api) == [Event({"error": "odd"})]


async def test_an_empty_answer_has_no_events() -> None:
    async with serving(says(b"")) as (api, _):
        assert await heard(api) == []


async def test_a_body_that_was_compressed_on_the_way_is_read_all_the_same() -> None:
    body = gzip.compress(b'data: {"n": 1}\n\n')
    async with serving(says(body, Content_Encoding="gzip")) as (api, _):
        assert await heard(api) == [Event({"n": 1})]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (says(b"{", status="401 Unauthorized", kind="application/json"), "auth"),
        (says(b"data: {broken\n\n"), "protocol"),
        (says(b"x", Content_Encoding="br"), "protocol"),
        (says(b"not gzip", Content_Encoding="gzip"), "protocol"),
        (says(b"", status="307 Moved", Location="http://evil.test/v1"), "not_found"),
        (says(b"<html>Log in</html>", kind="text/html; charset=utf-8"), "not_found"),
        (says(b"", status="503 Busy"), "overloaded"),
        (says(b'data: {"n": 1}\n\n', Content_Length="500"), "network"),
    ],
)
async def test_what_goes_wrong_has_its_kind(answer: Answer, kind: str) -> None:
    async with serving(answer) as (api, server):
        with pytest.raises(ProviderError) as raised:
            await heard(api)
    assert raised.value.kind == kind
    assert KEY not in str(raised.value)
    assert len(server.heads) == 1  # never asked twice: retrying is the host's


async def test_a_key_that_a_server_echoes_is_not_told() -> None:
    body = json.dumps({"error": {"message": f"wrong key: {KEY}"}}).encode()
    answer = says(body, status="401 Unauthorized", kind="application/json")
    async with serving(answer) as (api, _):
        with pytest.raises(ProviderError, match=r"wrong key: \[redacted\]"):
            await heard(api)


async def test_a_limit_tells_when_it_ends() -> None:
    async with serving(says(b"", status="429 Slow", Retry_After="7")) as (api, _):
        with pytest.raises(ProviderError) as raised:
            await heard(api)
    assert raised.value.retry_after == 7.0


async def test_a_server_that_stalls_is_left() -> None:
    async def stall(writer: asyncio.StreamWriter) -> None:
        await says(b'data: {"n": 1}\n\n')(writer)
        await writer.drain()
        await asyncio.sleep(30)

    async with serving(stall, timeouts=Timeouts(idle_s=0.2)) as (api, _):
        with pytest.raises(ProviderError) as raised:
            await heard(api)
    assert raised.value.kind == "timeout"


@pytest.mark.parametrize("last", [b"data: [DONE]\n\n", b'data: {"end": true}\n\n'])
async def test_an_answer_that_is_whole_leaves_its_connection_usable(last: bytes) -> None:
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        try:
            while await reader.readuntil(b'{"a":1}'):
                writer.write(head + b"Transfer-Encoding: chunked\r\n\r\n")
                writer.write(b"%x\r\n%b\r\n" % (len(last), last))
                await asyncio.sleep(0.05)
                writer.write(b"0\r\n\r\n")
        except asyncio.IncompleteReadError:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    # one's own machine is asked anew each time, so this is how others are asked
    port = server.sockets[0].getsockname()[1]
    api = HttpApi("Test", f"http://127.0.0.1:{port}", transport=AsyncHTTPTransport())
    for _ in range(3):
        async with aclosing(api.events("chat", {"a": 1})) as events:
            async for event in events:
                assert event.data == {"end": True}
                await finish(events)
    await api.aclose()
    await asyncio.sleep(0)  # the server sees that it is over
    server.close()
    assert connections == 1


async def test_the_rest_of_an_answer_that_is_whole_is_not_waited_for() -> None:
    async def stall(writer: asyncio.StreamWriter) -> None:
        await says(b"data: {}\n\ndata: {broken\n\n")(writer)
        while True:
            writer.write(b": still here\n\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with serving(stall) as (api, server):
        async with aclosing(api.events("chat", {})) as events:
            await anext(events)
            with anyio.fail_after(5):
                await finish(events)
        await asyncio.wait_for(server.gone.wait(), 3)


async def test_closing_the_stream_closes_the_connection() -> None:
    async def forever(writer: asyncio.StreamWriter) -> None:
        await says(b"")(writer)
        while True:
            writer.write(b'data: {"n": 1}\n\n')
            await writer.drain()
            await asyncio.sleep(0.01)

    async with serving(forever) as (api, server):
        async with aclosing(api.events("chat", {})) as events:
            assert await anext(events) == Event({"n": 1})
        await asyncio.wait_for(server.gone.wait(), 3)


async def test_a_closed_port_is_told_with_its_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    api = HttpApi("Test", f"http://127.0.0.1:{port}")
    with pytest.raises(ProviderError, match=f"127.0.0.1:{port}") as raised:
        await heard(api)
    await api.aclose()
    assert raised.value.kind == "network"


async def test_proxies_of_the_environment_are_not_used_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with serving(says(b"")) as (api, _):
        assert await heard(api) == []


async def test_half_a_character_is_sent_as_what_it_can_be() -> None:
    async with serving(says(b"")) as (api, server):
        assert [event async for event in api.events("chat", {"a": "x\ud83d"})] == []
    assert json.loads(server.bodies[0]) == {"a": "x?"}


@pytest.mark.parametrize("url", ["", "ftp://x", "http://", "api.example.org", "u:p@x/"])
def test_an_address_that_is_none_is_told_with_the_line_that_mends_it(url: str) -> None:
    with pytest.raises(ProviderError, match="no http address") as raised:
        HttpApi("Test", url)
    assert raised.value.fix is not None
    assert "u:p" not in str(raised.value)


@pytest.mark.parametrize("url", ["http://u:pass@[/", "https://pass@x", "ftp://u:pass@x"])
def test_a_password_in_an_address_is_refused_and_not_told(url: str) -> None:
    with pytest.raises(ProviderError, match="holds a name or a password") as raised:
        HttpApi("Test", url)
    assert "pass@" not in f"{raised.value} {raised.value.fix}"


@pytest.mark.parametrize(
    ("url", "secrets", "warned"),
    [
        ("http://models.test", [KEY], True),
        ("HTTP://10.0.0.7:8080", [KEY], True),
        ("http://models.test", [""], False),
        ("https://models.test", [KEY], False),
        ("http://127.0.0.1:1", [KEY], False),
    ],
)
def test_a_key_that_goes_without_encryption_is_warned_of(
    caplog: pytest.LogCaptureFixture, url: str, secrets: list[str], warned: bool
) -> None:
    HttpApi("Test", url, secrets=secrets)
    assert ("without encryption" in caplog.text) is warned
    assert KEY not in caplog.text


def test_a_key_with_a_line_end_in_it_is_not_told_but_refused() -> None:
    with pytest.raises(ProviderError, match="authorization") as raised:
        HttpApi("Test", "http://x.test", headers={"authorization": "Bearer a\nb"})
    assert "a\nb" not in str(raised.value)
    assert raised.value.kind == "auth"


async def test_a_header_that_comes_again_in_another_case_is_sent_once() -> None:
    async with serving(says(b"")) as (_, server):
        headers = {"Authorization": "Bearer mine", "authorization": f"Bearer {KEY}"}
        api = HttpApi("Test", f"http://127.0.0.1:{server.port}", headers=headers)
        assert await heard(api) == []
        await api.aclose()
    sent = [line for line in server.heads[0].split("\r\n") if line.lower().startswith("auth")]
    assert sent == [f"authorization: Bearer {KEY}"]


def test_spaces_around_a_key_are_no_part_of_it() -> None:
    HttpApi("Test", "http://x.test", headers={"x-api-key": " abc\n"})


def test_a_route_tells_addresses_and_keys_apart_without_telling_them() -> None:
    one = HttpApi("Test", "http://x.test", secrets=["a-key"]).route
    assert one == HttpApi("Other", "http://x.test/", secrets=["a-key"]).route
    assert one != HttpApi("Test", "http://x.test", secrets=["b-key"]).route
    assert one != HttpApi("Test", "http://y.test", secrets=["a-key"]).route
    assert "a-key" not in one


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8080", True),
        ("http://[::1]/v1", True),
        ("http://localhost:11434", True),
        ("http://192.168.0.7", False),
        ("https://api.example.org", False),
        ("https://localhost.example.org", False),
        ("http://127.0.0.1.example.org", False),
        ("http://[::1", False),
        ("https://u:pass/x@host", False),
    ],
)
def test_an_address_of_this_machine_is_known(url: str, local: bool) -> None:
    assert is_local(url) is local
