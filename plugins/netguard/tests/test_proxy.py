"""The proxy as programs in a sandbox meet it: curl-like clients on real sockets."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pegboard_netguard import GuardProxy, Rules
from pegboard_netguard.proxy import MAX_CLIENTS
from pegboard_netguard.tls_hello import NoHello, record_length, server_name

pytestmark = pytest.mark.anyio
Client = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def listening() -> socket.socket:
    made = socket.create_server(("127.0.0.1", 0))
    made.setblocking(False)
    return made


@asynccontextmanager
async def proxied(rules: Rules) -> AsyncIterator[tuple[int, list[str]]]:
    refused: list[str] = []
    listener = listening()
    port = listener.getsockname()[1]
    task = asyncio.create_task(GuardProxy(rules, refused=refused.append).serve(listener))
    try:
        yield port, refused
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def upstream(
    answer: bytes, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[int, list[bytes]]]:
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(answer)
            await writer.drain()
        except asyncio.IncompleteReadError:
            pass  # the proxy connected and sent nothing
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1], heads
    finally:
        server.close()


async def said(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await writer.drain()
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    return answer


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


async def test_a_request_to_an_allowed_host_is_passed_on_without_what_is_the_proxys() -> None:
    async with upstream(OK) as (port, heads):
        here = f"127.0.0.1:{port}"
        rules = Rules(hosts=frozenset({"127.0.0.1"}), private=frozenset({here}))
        async with proxied(rules) as (proxy, _):
            request = (
                f"GET http://{here}/a?b=c HTTP/1.1\r\nHost: other.test\r\n"
                "Proxy-Authorization: Basic xx\r\nX-Own: 1\r\n\r\n"
            )
            answer = await said(proxy, request.encode())
        assert answer == OK
        (head,) = heads
        lines = head.decode().split("\r\n")
        assert lines[0] == "GET /a?b=c HTTP/1.1"
        assert f"Host: {here}" in lines
        assert "X-Own: 1" in lines
        assert not any("other.test" in line or "Proxy" in line for line in lines)


async def test_a_host_that_is_not_allowed_is_refused_with_the_reason() -> None:
    async with proxied(Rules(hosts=frozenset({"allowed.test"}))) as (proxy, refused):
        plain = await said(proxy, b"GET http://evil.test/ HTTP/1.1\r\n\r\n")
        tunnel = await said(proxy, b"CONNECT evil.test:443 HTTP/1.1\r\n\r\n")
    for answer in (plain, tunnel):
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert b"evil.test is not among the hosts that may be reached" in answer
    assert len(refused) == 2


async def test_an_allowed_name_that_leads_inside_is_refused() -> None:
    async with proxied(Rules(hosts=frozenset({"localhost"}))) as (proxy, _):
        answer = await said(proxy, b"GET http://localhost/ HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"local name" in answer


@pytest.mark.parametrize(
    "request_",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"GET http://u:p@a.test/ HTTP/1.1\r\n\r\n",
        b"CONNECT a.test HTTP/1.1\r\n\r\n",
        b"CONNECT a.test:99999 HTTP/1.1\r\n\r\n",
        b"POST http://a.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST http://a.test/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\nbad header\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\n folded: x\r\n\r\n",
    ],
)
async def test_what_is_malformed_or_unclear_is_refused(request_: bytes) -> None:
    async with proxied(Rules()) as (proxy, _):
        answer = await said(proxy, request_)
    assert answer.startswith(b"HTTP/1.1 400 ")


async def test_a_second_request_on_one_connection_is_not_passed_on() -> None:
    async with upstream(OK) as (port, heads):
        here = f"127.0.0.1:{port}"
        async with proxied(Rules(private=frozenset({here}))) as (proxy, _):
            one = f"GET http://{here}/one HTTP/1.1\r\n\r\n".encode()
            await said(proxy, one + b"GET http://x/two HTTP/1.1\r\nHost: evil.test\r\n\r\n")
    assert len(heads) == 1
    assert b"evil.test" not in heads[0]


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


async def test_clients_that_say_nothing_take_a_bounded_number_of_descriptors() -> None:
    async with upstream(OK) as (port, _):
        here = f"127.0.0.1:{port}"
        async with proxied(Rules(private=frozenset({here}))) as (proxy, _):
            silent = [socket.create_connection(("127.0.0.1", proxy)) for _ in range(MAX_CLIENTS)]
            request = f"GET http://{here}/ HTTP/1.1\r\n\r\n".encode()
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy)
            writer.write(request)
            before = descriptors()
            waiting = [socket.create_connection(("127.0.0.1", proxy)) for _ in range(20)]
            await asyncio.sleep(0.05)
            assert descriptors() - before == len(waiting)  # the test's own ends
            silent[0].close()
            assert await asyncio.wait_for(reader.read(), 20) == OK
            writer.close()
            for client in (*silent, *waiting):
                client.close()


async def test_a_client_that_breaks_off_a_tunnel_is_no_error_of_the_host(
    certificate: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with upstream(OK, tls=server_tls(certificate)) as (port, _):
        target = f"localhost:{port}"
        async with proxied(Rules(private=frozenset({target}))) as (proxy, _):
            for _ in range(3):
                reader, writer = await asyncio.open_connection("127.0.0.1", proxy)
                writer.write(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
                await reader.readuntil(b"\r\n\r\n")
                context = ssl.create_default_context(cafile=certificate / "cert.pem")
                await writer.start_tls(context, server_hostname="localhost")
                reset = struct.pack("ii", 1, 0)
                ours = writer.get_extra_info("socket")
                ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                writer.transport.abort()
            assert await tunnelled(proxy, target, "localhost", certificate) == OK
    assert not caplog.records


async def test_a_fault_at_one_client_ends_no_other_one(caplog: pytest.LogCaptureFixture) -> None:
    def broken(reason: str) -> None:
        raise ValueError(reason)

    async with upstream(OK) as (port, _):
        here = f"127.0.0.1:{port}"
        listener = listening()
        proxy = listener.getsockname()[1]
        rules = Rules(private=frozenset({here}))
        task = asyncio.create_task(GuardProxy(rules, refused=broken).serve(listener))
        assert await said(proxy, b"GET http://127.0.0.2/ HTTP/1.1\r\n\r\n") == b""
        assert await said(proxy, f"GET http://{here}/ HTTP/1.1\r\n\r\n".encode()) == OK
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert "the proxy failed at one client" in caplog.text


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    made = subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")),
        ],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("needs the program openssl")
    return folder


def server_tls(folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


async def tunnelled(proxy: int, target: str, name: str, folder: Path) -> bytes:
    """Open a tunnel to `target` and speak TLS to the server `name` through it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy)
    writer.write(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), head
    context = ssl.create_default_context(cafile=folder / "cert.pem")
    context.check_hostname = False
    await writer.start_tls(context, server_hostname=name)
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    return answer


async def test_a_tunnel_carries_tls_to_the_host_that_was_named(certificate: Path) -> None:
    async with upstream(OK, tls=server_tls(certificate)) as (port, _):
        target = f"localhost:{port}"
        async with proxied(Rules(private=frozenset({target}))) as (proxy, _refused):
            assert await tunnelled(proxy, target, "localhost", certificate) == OK


async def test_a_tunnel_to_one_host_can_not_be_used_for_another(certificate: Path) -> None:
    async with upstream(OK, tls=server_tls(certificate)) as (port, heads):
        target = f"localhost:{port}"
        async with proxied(Rules(private=frozenset({target}))) as (proxy, refused):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await tunnelled(proxy, target, "evil.test", certificate)
        assert refused == [f"blocked: {target}: the TLS client asks for the server 'evil.test'"]
        assert heads == []


async def test_a_tunnel_carries_nothing_but_tls(certificate: Path) -> None:
    async with upstream(OK) as (port, heads):
        target = f"localhost:{port}"
        async with proxied(Rules(private=frozenset({target}))) as (proxy, refused):
            request = f"CONNECT {target} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n"
            assert await said(proxy, request.encode()) == b"HTTP/1.1 200 OK\r\n\r\n"
        assert "does not begin with TLS" in refused[0]
        assert heads == []


def hello(name: str) -> bytes:
    """Return the first flight of a real TLS client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    session = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        session.do_handshake()
    return outgoing.read()


def test_the_server_name_is_read_from_what_a_real_client_sends() -> None:
    flight = hello("a.example.org")
    assert record_length(flight[:5]) == len(flight) - 5
    assert server_name(flight[5:]) == "a.example.org"


def test_a_hello_cut_anywhere_is_no_hello() -> None:
    record = hello("a.example.org")[5:]
    for end in range(len(record)):
        with pytest.raises(NoHello):
            server_name(record[:end])
