from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pegboard_terminal.safe_text import fit, harmless, one_line
from pegboard_terminal.wording import call_line, duration, error_lines, unknown_word


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("tab\tand\nnewline", "tab\tand\nnewline"),
        ("dos\r\nline", "dos\nline"),
        ("over\rwritten", "over␍written"),
        ("\x1b[2J\x1b]0;title\x07", "␛[2J␛]0;title␇"),
        ("\x9b31m", "\\x9b31m"),
        ("back\x08space\x7f", "back␈space␡"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("half \ud83d", "half \ufffd"),
        ("café 😀 ✓", "café 😀 ✓"),
    ],
)
def test_control_characters_are_shown_and_not_sent(text: str, shown: str) -> None:
    assert harmless(text) == shown


@given(st.text())
def test_no_text_holds_a_control_character_afterwards(text: str) -> None:
    safe = harmless(text)
    assert not [c for c in safe if unicodedata.category(c) in ("Cc", "Cs") and c not in "\t\n"]
    assert harmless(safe) == safe


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert not set(one_line(text)) & set("\r\n\t")


def test_a_line_is_cut_to_the_columns_of_a_terminal() -> None:
    assert fit("short", 10) == "short"
    assert fit("exactly ten", 10) == "exactly t…"
    assert fit("日本語日本語", 7) == "日本語…"


def test_a_call_is_one_short_line() -> None:
    assert call_line("file_read", {"path": "a.md", "n": 3}) == "file_read path=a.md n=3"
    assert call_line("shell", {"command": "ls -l"}) == 'shell command="ls -l"'
    assert call_line("x", "{oops\nagain") == "x {oops again"
    assert call_line("list_dir", {}) == "list_dir"
    assert "\x1b" not in call_line("a\x1b[2J", {"b\x1b": "\x1b[31m"})
    assert len(call_line("w", {"content": "x" * 10_000})) < 100
    assert len(call_line("w", {f"k{n}": n for n in range(1000)})) < 170


def test_a_duration_has_the_unit_that_suits_it() -> None:
    assert [duration(s) for s in (0.0123, 1.26, 75)] == ["12 ms", "1.3 s", "1 min 15 s"]


def test_an_error_has_its_fix_below_it() -> None:
    assert error_lines({"message": "It broke.", "fix": "mend it"}) == [
        "Error: It broke.",
        "  Fix: mend it",
    ]
    assert error_lines({"code": "odd"}) == ["Error: odd"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/plam", "There is no command and no tool /plam. Did you mean: /plan"),
        (
            " /file_raed path=x",
            "There is no command and no tool /file_raed. Did you mean: /file_read",
        ),
        (
            "/nosuch",
            "There is no command and no tool /nosuch. /help lists the commands, /tools the tools.",
        ),
        ("/plan", ""),  # it is one that this turn could not find, and not misspelt
        ("/other", ""),  # whoever answered took it for something else
        ("see /plam", ""),
        ("/plam/x", ""),
    ],
)
def test_a_misspelt_word_is_told_what_is_near(text: str, said: str) -> None:
    not_found = {"plam", "file_raed", "nosuch", "plan"}
    assert unknown_word(text, not_found, ("help", "plan", "file_read")) == said
