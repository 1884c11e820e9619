from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import anyio
import pytest
from pegboard_terminal import piped_input
from pegboard_terminal.piped_input import InputError, compose, lines, read_request


class Pipe:
    """Both ends of a real pipe."""

    def __init__(self) -> None:
        reading, self._writing = os.pipe()
        self.stream: TextIO = os.fdopen(reading, encoding="utf-8")
        self._open = True

    def write(self, data: bytes) -> None:
        os.write(self._writing, data)

    def close_writing(self) -> None:
        if self._open:
            os.close(self._writing)
            self._open = False

    def close(self) -> None:
        self.close_writing()
        self.stream.close()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close()


def request(words: tuple[str, ...], stream: TextIO | None) -> tuple[str, list[str]]:
    notes: list[str] = []
    return read_request(words, stream, note=notes.append), notes


def test_words_alone_are_the_question() -> None:
    assert request(("list", "the", "files"), None) == ("list the files", [])


def test_a_pipe_alone_is_the_question(pipe: Pipe) -> None:
    pipe.write("read café.md\n".encode())
    pipe.close_writing()
    assert request((), pipe.stream) == ("read café.md", [])


def test_with_both_the_pipe_is_context(pipe: Pipe) -> None:
    pipe.write(b"diff\n")
    pipe.close_writing()
    assert request(("explain",), pipe.stream)[0] == "explain\n\n<stdin>\ndiff\n</stdin>"


def test_an_empty_pipe_is_no_context(pipe: Pipe) -> None:
    pipe.close_writing()
    assert request(("explain",), pipe.stream) == ("explain", [])


def test_a_file_is_read_as_context(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_bytes(b"one \xff two")
    with file.open(encoding="utf-8") as stream:
        assert request(("x",), stream)[0] == "x\n\n<stdin>\none \ufffd two\n</stdin>"


def test_a_pipe_that_stays_silent_does_not_hold_up_a_question(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piped_input, "PATIENCE_S", 0.05)
    text, notes = request(("explain",), pipe.stream)
    assert text == "explain"
    assert "stayed silent" in notes[0]
    assert "/dev/null" in notes[0]


def test_a_last_word_dash_waits_for_the_pipe(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piped_input, "PATIENCE_S", 0.0)
    pipe.write(b"late")
    pipe.close_writing()
    assert request(("explain", "-"), pipe.stream)[0] == compose("explain", "late")


@pytest.mark.parametrize("piped", [b"", b" \n"])
def test_without_a_question_there_is_an_error_with_an_example(pipe: Pipe, piped: bytes) -> None:
    pipe.write(piped)
    pipe.close_writing()
    with pytest.raises(InputError) as caught:
        request((), pipe.stream)
    assert caught.value.exit_code == 2
    assert "pegboard ask" in str(caught.value.fix)


def test_too_much_input_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piped_input, "MAX_BYTES", 10)
    file = tmp_path / "big"
    file.write_bytes(b"x" * 11)
    with file.open(encoding="utf-8") as stream, pytest.raises(InputError, match="more than"):
        request(("x",), stream)


@pytest.mark.anyio
async def test_lines_come_as_they_are_written(pipe: Pipe) -> None:
    coming = lines(pipe.stream)
    pipe.write(b"one\ntw")
    assert await anext(coming) == "one"
    pipe.write(b"o\nthree")
    assert await anext(coming) == "two"
    pipe.close_writing()
    assert [line async for line in coming] == ["three"]


@pytest.mark.anyio
async def test_waiting_for_a_line_can_be_cancelled(pipe: Pipe) -> None:
    with anyio.move_on_after(0.05) as scope:
        async for _ in lines(pipe.stream):
            pytest.fail("nothing was written")
    assert scope.cancelled_caught


@pytest.mark.anyio
async def test_the_lines_of_a_file_are_read(tmp_path: Path) -> None:
    file = tmp_path / "messages"
    file.write_text("a\nb\n", encoding="utf-8")
    with file.open(encoding="utf-8") as stream:
        assert [line async for line in lines(stream)] == ["a", "b"]


def test_a_pipe_that_does_not_block_is_read_to_its_end(pipe: Pipe) -> None:
    os.set_blocking(pipe.stream.fileno(), False)

    def write() -> None:
        for piece in (b"first ", b"second"):
            time.sleep(0.1)
            pipe.write(piece)
        pipe.close_writing()

    writer = threading.Thread(target=write)
    writer.start()
    text, _ = request(("-",), pipe.stream)
    writer.join()
    assert text == "first second"


@pytest.mark.anyio
async def test_a_line_without_an_end_does_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piped_input, "MAX_BYTES", 100_000)
    file = tmp_path / "long"
    file.write_bytes(b"short\n" + b"x" * 1_000_000)
    with file.open() as stream, pytest.raises(InputError, match="A line of standard input"):
        assert [line async for line in lines(stream)]


@pytest.mark.anyio
async def test_many_lines_come_out_whole_whatever_the_pieces(tmp_path: Path) -> None:
    file = tmp_path / "many"
    wanted = [f"line {number} {'é' * (number % 50)}" for number in range(20_000)]
    file.write_text("\n".join(wanted), encoding="utf-8")
    with file.open() as stream:
        assert [line async for line in lines(stream)] == wanted
