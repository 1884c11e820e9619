"""Send a long stream to whoever asks, as fast as it is read.

    stream_server.py EVENTS PACKED CHARACTERS [chat|messages|gemini]

It prints its port. PACKED = events in one HTTP chunk: 1 as model servers send them, more as a proxy
on the way may pack them. CHARACTERS = length of the text in one event.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from typing import Any

STEP = 1_000
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chat(text: str) -> tuple[bytes, bytes, bytes]:
    """Return what a Chat Completions stream begins with, one event with text, and its end."""
    end = chat_event({}, "stop") + b"data: [DONE]\n\n"
    return b"", chat_event({"content": text}), end


def chat_event(delta: Any, finish: str | None = None) -> bytes:
    """Return one event as a vendor sends it."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = {
        "id": "chatcmpl-8f6bf36e09bf4d6eb5f09ab5",
        "object": "chat.completion.chunk",
        "created": 1_796_022_980,
        "model": "gpt-5.5-2026-04-01",
        "system_fingerprint": "fp_44709d6fcb",
        "choices": [choice],
        "usage": None,
    }
    return f"data: {json.dumps(chunk)}\n\n".encode()


def messages(text: str) -> tuple[bytes, bytes, bytes]:
    """Return the beginning, one event with text, and the end of a Messages stream."""
    message = {"id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-5"}
    delta = {"type": "text_delta", "text": text}
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    begin = [
        {"type": "message_start", "message": message | {"usage": {"input_tokens": 9}}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        },
    ]
    end = [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    word = {"type": "content_block_delta", "index": 0, "delta": delta}
    return named(*begin), named(word), named(*end)


def named(*events: dict[str, Any]) -> bytes:
    """Return events with their names before them."""
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events
    )


def gemini(text: str) -> tuple[bytes, bytes, bytes]:
    """Return the beginning, one event with text, and the end of a generateContent stream."""
    return b"", gemini_event({"content": content(text)}), gemini_event({"finishReason": "STOP"})


def gemini_event(candidate: dict[str, Any]) -> bytes:
    """Return one event as the vendor sends it."""
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 9, "totalTokenCount": 18}
    made = {
        "candidates": [candidate | {"index": 0}],
        "usageMetadata": usage,
        "modelVersion": "gemini-3.8-flash",
        "responseId": "kPYrafTnD6jVz7IPk8qM6A4",
    }
    return f"data: {json.dumps(made)}\n\n".encode()


def content(text: str) -> dict[str, Any]:
    """Return a content of one part."""
    return {"parts": [{"text": text}], "role": "model"}


DIALECTS = {"chat": chat, "messages": messages, "gemini": gemini}


def chunk(data: bytes) -> bytes:
    """Return one HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def serve(connection: socket.socket, parts: list[bytes]) -> None:
    """Answer the requests of one connection."""
    with connection:
        while request_came(connection):
            for part in (HEAD, *parts):
                connection.sendall(part)


def request_came(connection: socket.socket) -> bool:
    """Read one request to its end; False when there is none."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65_536)
        if not piece:
            return False
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    lengths = [line[15:] for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"]
    while len(rest) < int(lengths[0]):
        rest += connection.recv(65_536)
    return True


def main() -> None:
    """Serve until the process is ended."""
    events, packed, characters = map(int, sys.argv[1:4])
    dialect = sys.argv[4] if sys.argv[4:] else "chat"
    step = max(packed, STEP // packed * packed)
    begin, word, end = DIALECTS[dialect]("x" * (characters - 1) + " ")
    some = chunk(word * packed) * (step // packed)
    # one part is sent again and again: a stream of any length takes no memory here
    parts = [some] * (events // step) + [chunk(end) + chunk(b"")]
    if begin:
        parts.insert(0, chunk(begin))
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, parts), daemon=True).start()


main()
