"""Requests to real servers on this machine, opened for the test as an operator would."""

from __future__ import annotations

import gzip
import http.server
import threading
import tracemalloc
import zlib
from collections.abc import Iterator

import pytest
from pegboard_netguard import Blocked, Fetched, FetchError, Rules, fetch

pytestmark = pytest.mark.anyio
MB = 1_048_576


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        self.server.seen.append(  # type: ignore[attr-defined]
            {"method": self.command, "path": self.path, **dict(self.headers)}
        )
        getattr(self, self.path.strip("/").split("?")[0], self.plain)()

    do_POST = do_GET

    def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def plain(self) -> None:
        self.answer(b"hello")

    def zipped(self) -> None:
        self.answer(gzip.compress(b"hello" * 10), Content_Encoding="gzip")

    def deflated(self) -> None:
        self.answer(zlib.compress(b"hello"), Content_Encoding="deflate")

    def headless(self) -> None:
        coder = zlib.compressobj(wbits=-15)
        self.answer(coder.compress(b"hello") + coder.flush(), Content_Encoding="deflate")

    def bomb(self) -> None:
        coder = zlib.compressobj(9, zlib.DEFLATED, 31)
        body = b"".join(coder.compress(bytes(MB)) for _ in range(200)) + coder.flush()
        self.answer(body, Content_Encoding="gzip")

    def stacked(self) -> None:
        self.answer(gzip.compress(gzip.compress(b"x")), Content_Encoding="gzip, gzip")

    def broken(self) -> None:
        self.answer(b"not gzip at all", Content_Encoding="gzip")

    def loop(self) -> None:
        self.answer(b"", 302, Location="/loop")

    def away(self) -> None:
        self.answer(b"", 302, Location=self.path.partition("?")[2])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.seen = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


def opened(server: http.server.ThreadingHTTPServer, **rules: object) -> Rules:
    host, port = server.server_address[:2]
    return Rules(private=frozenset({f"{host}:{port}"}), **rules)  # type: ignore[arg-type]


async def ask(server: http.server.ThreadingHTTPServer, path: str, **rules: object) -> Fetched:
    url = f"http://127.0.0.1:{server.server_port}/{path}"
    return await fetch(url, rules=opened(server, **rules))


@pytest.mark.parametrize("path", ["plain", "deflated", "headless"])
async def test_a_body_is_decoded(server: http.server.ThreadingHTTPServer, path: str) -> None:
    answer = await ask(server, path)
    assert (answer.status, answer.content, answer.truncated) == (200, b"hello", False)


async def test_a_longer_body_is_cut_and_says_so(server: http.server.ThreadingHTTPServer) -> None:
    answer = await ask(server, "zipped", max_bytes=7)
    assert (answer.content, answer.truncated) == (b"hellohe", True)


async def test_a_body_of_exactly_the_limit_is_whole(
    server: http.server.ThreadingHTTPServer,
) -> None:
    answer = await ask(server, "plain", max_bytes=5)
    assert (answer.content, answer.truncated) == (b"hello", False)


async def test_a_bomb_costs_no_more_memory_than_the_limit(
    server: http.server.ThreadingHTTPServer,
) -> None:
    tracemalloc.start()
    try:
        answer = await ask(server, "bomb", max_bytes=MB)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.truncated
    assert len(answer.content) == MB
    assert peak < 20 * MB


@pytest.mark.parametrize("path", ["stacked", "broken"])
async def test_a_body_that_is_not_what_it_says_is_an_error(
    server: http.server.ThreadingHTTPServer, path: str
) -> None:
    with pytest.raises(FetchError, match="encoded"):
        await ask(server, path)


async def test_redirects_end(server: http.server.ThreadingHTTPServer) -> None:
    with pytest.raises(Blocked, match="more than 3 redirects"):
        await ask(server, "loop", max_redirects=3)


async def test_a_redirect_into_the_private_network_is_refused(
    server: http.server.ThreadingHTTPServer,
) -> None:
    with pytest.raises(Blocked, match=r"redirect to .*169\.254\.169\.254"):
        await ask(server, "away?http://169.254.169.254/latest/")


async def test_credentials_stay_with_the_first_origin(
    server: http.server.ThreadingHTTPServer,
) -> None:
    other = http.server.ThreadingHTTPServer(("127.0.0.2", 0), Handler)
    other.seen = []  # type: ignore[attr-defined]
    threading.Thread(target=other.serve_forever, daemon=True).start()
    try:
        pairs = {f"127.0.0.1:{server.server_port}", f"127.0.0.2:{other.server_port}"}
        answer = await fetch(
            f"http://127.0.0.1:{server.server_port}/away?http://127.0.0.2:{other.server_port}/",
            headers={"Authorization": "Bearer abc", "X-Trace": "1"},
            rules=Rules(private=frozenset(pairs)),
        )
    finally:
        other.shutdown()
        other.server_close()
    (seen,) = other.seen  # type: ignore[attr-defined]
    assert answer.redirects == (
        f"http://127.0.0.1:{server.server_port}/away?http://127.0.0.2:{other.server_port}/",
    )
    assert "authorization" not in {name.lower() for name in seen}
    assert seen["X-Trace"] == "1"


async def test_a_post_that_is_redirected_goes_on_as_get(
    server: http.server.ThreadingHTTPServer,
) -> None:
    url = f"http://127.0.0.1:{server.server_port}/away?/plain"
    await fetch(url, method="POST", content=b"x", rules=opened(server))
    assert [seen["method"] for seen in server.seen] == ["POST", "GET"]  # type: ignore[attr-defined]


async def test_a_closed_port_is_no_refusal_but_an_error() -> None:
    rules = Rules(private=frozenset({"127.0.0.1:9"}))
    with pytest.raises(FetchError, match=r"127\.0\.0\.1"):
        await fetch("http://127.0.0.1:9/", rules=rules)


async def test_proxies_of_the_environment_are_not_used(
    server: http.server.ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert (await ask(server, "plain")).content == b"hello"


async def test_this_machine_is_closed_where_nobody_opened_it(
    server: http.server.ThreadingHTTPServer,
) -> None:
    with pytest.raises(Blocked, match="port"):
        await fetch(f"http://127.0.0.1:{server.server_port}/")
    with pytest.raises(Blocked, match="this machine"):
        await fetch("http://127.0.0.1/")
