"""What a screen shows of what a program writes, whatever it writes."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pegboard_shell.screen import TerminalScreen

from pegboard import Command, Output, TerminalSize

pytestmark = pytest.mark.anyio


class Written:
    """A process that has written something."""

    id = "x"
    command = Command(argv=("x",))
    terminal = TerminalSize()
    ended = None

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.typed = b""

    async def output(self, offset: int = 0, *, limit: int = 65_536) -> Output:
        return Output(data=self.data[offset : offset + limit], start=offset, total=len(self.data))

    async def write(self, data: bytes, *, within_s: float = 5.0) -> int:
        self.typed += data
        return len(data)


async def shown(data: bytes, rows: int = 5, columns: int = 20) -> tuple[TerminalScreen, Written]:
    screen, process = TerminalScreen(TerminalSize(rows=rows, columns=columns)), Written(data)
    await screen.catch_up(process)  # type: ignore[arg-type]
    return screen, process


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"one\r\ntwo", "one\ntwo"),
        (b"aaaa\rb", "baaa"),
        (b"\x1b[31mred\x1b[0m", "red"),
        (b"gone\x1b[2J\x1b[Hnew", "new"),
        (b"\x1b[3;5Hx", "\n\n    x"),
        ("\u4fee\u6b63".encode(), "\u4fee\u6b63"),
        (b"1\r\n2\r\n3\r\n4\r\n5\r\n6", "2\n3\n4\n5\n6"),
        (b"x" * 25, "x" * 20 + "\n" + "x" * 5),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"one\x1b[?1049h\x1b[HTWO", "TWO"),
        (b"one\x1b[?1049h\x1b[HTWO\x1b[?1049l!", "one!"),
        (b"one\x1b[?47h\x1b[?47hTWO\x1b[?47l\x1b[?47l", "one"),
        (b"one\x1b[47hTWO\x1b[?1049l", "oneTWO"),
    ],
)
async def test_a_screen_shows_what_a_terminal_would(data: bytes, text: str) -> None:
    screen, _ = await shown(data)
    assert screen.text() == text


async def test_a_program_that_asks_where_the_cursor_is_gets_an_answer() -> None:
    screen, process = await shown(b"ab\x1b[6n")
    assert process.typed == b"\x1b[1;3R"
    assert screen.facts()["cursor"] == [1, 3]


async def test_only_what_is_new_is_drawn() -> None:
    screen, process = await shown(b"a")
    assert not await screen.catch_up(process)  # type: ignore[arg-type]
    process.data += b"b"
    assert await screen.catch_up(process)  # type: ignore[arg-type]
    assert screen.text() == "ab"


async def test_a_flood_is_drawn_from_near_its_end() -> None:
    screen, _ = await shown(b"x\r\n" * 1_000_000 + b"end")
    assert screen.text().endswith("x\nend")


@given(
    st.lists(
        st.sampled_from(
            [b"\x1b", b"[", b"]", b"?", b";", b"9", b"m", b"H", b"J", b"n", b"(", b"\x07"]
        )
        | st.binary(max_size=3),
        max_size=60,
    ),
    st.integers(1, 6),
    st.integers(1, 12),
)
@settings(max_examples=60, deadline=None)
def test_nothing_that_is_written_breaks_it(pieces: list[bytes], rows: int, columns: int) -> None:
    async def draw() -> None:
        screen, process = await shown(b"".join(pieces), rows, columns)
        screen.resize(TerminalSize(rows=rows + 1, columns=columns))
        process.data += b"\x1bc\x1b[Hok"
        await screen.catch_up(process)  # type: ignore[arg-type]
        assert len(screen.text().splitlines()) <= rows + 1
        assert screen.facts()["rows"] == rows + 1

    anyio.run(draw)


async def test_a_first_screen_comes_back_also_when_it_has_become_smaller() -> None:
    screen, process = await shown(b"1\r\n2\r\n3\r\n4\r\n5" + b"x" * 15 + b"\x1b[?1049hover")
    screen.resize(TerminalSize(rows=2, columns=4))
    process.data += b"\x1b[?1049l"
    await screen.catch_up(process)  # type: ignore[arg-type]
    assert screen.text().splitlines()[0] == "1"
    assert screen.facts()["cursor"] == [2, 4]
