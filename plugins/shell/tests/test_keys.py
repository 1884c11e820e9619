"""Names of keys, and what a terminal sends for them."""

from __future__ import annotations

import pytest
from pegboard_shell.keys import key_bytes

from pegboard import ToolFailure


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("enter", b"\r"),
        ("Return", b"\r"),
        ("tab", b"\t"),
        ("escape", b"\x1b"),
        ("UP", b"\x1b[A"),
        ("PageDown", b"\x1b[6~"),
        ("page_up", b"\x1b[5~"),
        ("ctrl-c", b"\x03"),
        ("Ctrl+D", b"\x04"),
        ("C-a", b"\x01"),
        ("ctrl-[", b"\x1b"),
        ("alt-x", b"\x1bx"),
        ("f1", b"\x1b[[A"),
        ("f12", b"\x1b[24~"),
    ],
)
def test_a_key_has_the_name_that_people_give_it(name: str, sent: bytes) -> None:
    assert key_bytes(name) == sent


@pytest.mark.parametrize("name", ["", "a", "rm -rf /", "ctrl-", "ctrl-1", "enter enter", "\x03"])
def test_text_is_no_key(name: str) -> None:
    with pytest.raises(ToolFailure, match="There is no key"):
        key_bytes(name)
