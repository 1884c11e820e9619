from __future__ import annotations

import time

from pegboard_files.nearest import nearest


def test_a_curly_quote_is_named_by_code_point() -> None:
    near = nearest("one\nsay \u201chi\u201d\nthree", 'say "hi"')
    assert near is not None
    assert near.line == 2
    assert near.differences == (
        "line 2, column 5: the file has U+201C '\u201c' LEFT DOUBLE QUOTATION MARK, "
        "old_string has U+0022 '\"' QUOTATION MARK",
    )


def test_a_tab_for_spaces_and_a_space_at_the_end_are_told() -> None:
    near = nearest("def f():\n\treturn 1\n", "def f():\n    return 1")
    assert near is not None
    assert near.line == 1
    assert near.differences[0] == (
        "line 2, column 1: the file has U+0009, old_string has U+0020 SPACE"
    )
    near = nearest("value = 1 \nx", "value = 1\nx")
    assert near is not None
    assert near.differences == (
        "line 1, column 10: the file has U+0020 SPACE, old_string has the end of the line",
    )


def test_an_invisible_character_is_named() -> None:
    near = nearest("na\u200bme = 1", "name = 1")
    assert near is not None
    assert "U+200B ZERO WIDTH SPACE" in near.differences[0]


def test_the_best_of_several_places_is_shown() -> None:
    text = "def a():\n    return 1\n\ndef b():\n    return 2\n\ndef c():\n    return 3\n"
    near = nearest(text, "def b():\n    return 20")
    assert near is not None
    assert near.line == 4


def test_nothing_like_it_is_said_to_be_nothing() -> None:
    assert nearest("alpha\nbeta\n", "zzzzzzzzzzzz") is None
    assert nearest("", "x") is None
    assert nearest("alpha", "   ") is None


def test_large_texts_take_bounded_work() -> None:
    began = time.process_time()
    nearest("\n".join(f"line {number} of many" * 30 for number in range(30_000)), "x" * 5000)
    assert time.process_time() - began < 20
