"""A server that answers with given bytes: for what no well-behaved server ever sends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What one request is answered with.

    Args:
        pieces: The body, each piece sent by itself.
        status: Status line after the version.
        headers: Headers beside those that frame the body.
        kind: Content type; "" = none.
        cut: True to close the connection before the body's end is marked.
        stall: True to send nothing more after the pieces, and not to close.
        pause_s: Seconds before each piece.
    """

    pieces: Sequence[bytes] = ()
    status: str = "200 OK"
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "text/event-stream"
    cut: bool = False
    stall: bool = False
    pause_s: float = 0.0

    @staticmethod
    def stream(*events: Any, done: bool = True, **options: Any) -> Answer:
        """Return a stream of events; each is JSON, or the text of its data line."""
        texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
        if done:
            texts.append("[DONE]")
        return Answer([f"data: {text}\n\n".encode() for text in texts], **options)

    @staticmethod
    def json(body: Any, status: str = "200 OK", **options: Any) -> Answer:
        """Return a body of JSON."""
        return Answer(
            [json.dumps(body).encode()], status=status, kind="application/json", **options
        )


@dataclass(frozen=True)
class Request:
    """One request as it arrived, header names lower-cased."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class ScriptedServer:
    """Answers requests in order; the last answer counts for all that follow.

    Args:
        answers: The answers.

    Attributes:
        url: Its address.
        requests: What was asked.
        connections: How many connections were made.
        left: Set when a client closed a connection while it was being answered.
    """

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.url = ""
        self.requests: list[Request] = []
        self.connections = 0
        self.left = asyncio.Event()
        self._answers = list(answers)
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        except asyncio.CancelledError:
            pass  # the test is over
        finally:
            self._tasks.discard(task)
            writer.close()

    async def close(self) -> None:
        """End what is still being answered."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        pairs = (line.partition(":") for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.requests.append(Request(method, path, headers, body))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        await self._send(answer, writer)
        if answer.stall:
            await reader.read()  # until the client goes
            self.left.set()
        return not (answer.cut or answer.stall)

    async def _send(self, answer: Answer, writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {answer.status}", "Transfer-Encoding: chunked"]
        if answer.kind:
            lines.append(f"Content-Type: {answer.kind}")
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        for piece in answer.pieces:
            if answer.pause_s:
                await asyncio.sleep(answer.pause_s)
            if piece:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
        if not (answer.cut or answer.stall):
            writer.write(b"0\r\n\r\n")
        await writer.drain()


@asynccontextmanager
async def scripted(*answers: Answer) -> AsyncIterator[ScriptedServer]:
    """Run a server that answers so."""
    made = ScriptedServer(answers)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    made.url = f"http://{host}:{port}"
    try:
        yield made
    finally:
        server.close()
        await made.close()
