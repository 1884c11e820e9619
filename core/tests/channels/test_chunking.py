from __future__ import annotations

import random
import re

import pytest

from pegboard.channels.chunking import split
from pegboard.channels.fences import open_at_end


def test_a_short_text_is_one_piece() -> None:
    assert split("Hello", 5) == ["Hello"]
    assert split("Hello", None) == ["Hello"]
    assert split("", 5) == [""]


def test_the_cut_falls_between_paragraphs() -> None:
    assert split("One one one.\n\nTwo two.\nThree.", 24) == ["One one one.", "Two two.\nThree."]


def test_else_between_lines() -> None:
    assert split("first line\nsecond line\nthird", 23) == ["first line\nsecond line", "third"]


def test_else_between_words() -> None:
    assert split("alpha beta gamma delta", 11) == ["alpha beta", "gamma delta"]


def test_else_between_characters() -> None:
    assert split("abcdefghij", 4) == ["abcd", "efgh", "ij"]


def test_japanese_text_is_cut_between_characters_and_none_is_lost() -> None:
    text = "修正しました" * 50
    pieces = split(text, 100)
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= 100


@pytest.mark.parametrize("cluster", ["👩\u200d👩\u200d👧", "e\u0301", "👍🏽", "❤\ufe0f", "🇩🇪"])
def test_what_a_person_sees_as_one_character_is_not_torn(cluster: str) -> None:
    pieces = split("abcdef" + cluster + "xyz", 7)
    assert pieces[0] == "abcdef"
    assert pieces[1].startswith(cluster)


def test_a_code_block_is_closed_and_opened_again() -> None:
    code = "\n".join(f"print({n})" for n in range(20))
    pieces = split(f"Look:\n\n```python\n{code}\n```\n\nDone.", 90)
    assert len(pieces) > 2
    for piece in pieces:
        assert len(piece) <= 90
        assert open_at_end(piece) is None
    lines = [line for piece in pieces for line in piece.splitlines() if line.startswith("print")]
    assert lines == code.splitlines()
    assert sum(piece.count("```python") for piece in pieces) == len(pieces)
    assert pieces[-1].endswith("Done.")


def test_indentation_inside_a_block_survives_a_cut() -> None:
    code = "def f():\n" + "\n".join(f"    line_{n:02}()" for n in range(10))
    pieces = split(f"```\n{code}\n```", 60)
    inside = "\n".join(
        line for piece in pieces for line in piece.split("\n") if not line.startswith("```")
    )
    assert inside == code


def test_a_longer_fence_is_closed_by_its_own_length() -> None:
    text = "````\n" + "```\nx\n```\n" * 10 + "````"
    for piece in split(text, 40):
        assert open_at_end(piece) is None


def test_a_tilde_fence_is_a_fence() -> None:
    text = "~~~sh\n" + "echo hi\n" * 20 + "~~~"
    for piece in split(text, 50):
        assert piece.startswith("~~~sh\n")
        assert piece.endswith("~~~")


def test_a_block_that_would_be_empty_moves_to_the_next_piece() -> None:
    pieces = split("Some words here.\n```python\nprint('a long line of code')\n```", 50)
    assert pieces[0] == "Some words here."


def test_the_indentation_of_a_list_survives_a_cut() -> None:
    assert split("- one item\n    - two item", 16)[1] == "    - two item"


def test_a_message_without_room_for_a_block_is_cut_plainly() -> None:
    pieces = split("```python\n" + "x" * 40 + "\n```", 12)
    assert max(map(len, pieces)) <= 12
    assert "".join(pieces).count("x") == 40


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        split("ab", 0)


@pytest.mark.parametrize("seed", range(60))
def test_random_texts_fit_and_lose_nothing_but_blank_space(seed: int) -> None:
    rng = random.Random(seed)
    parts = [
        "word",
        "longerword",
        "\n",
        "\n\n",
        " ",
        "```py\n",
        "\n```\n",
        "~~~\n",
        "é",
        "修",
        "- x",
    ]
    text = "".join(rng.choice(parts) for _ in range(300))
    limit = rng.randint(1, 80)
    pieces = split(text, limit)
    assert max(map(len, pieces)) <= limit

    def letters(value: str) -> str:
        # fences, with their word `py`, are repeated at cuts; no other part holds these letters
        return re.sub(r"[\s`~py]", "", value)

    assert letters("\n".join(pieces)) == letters(text)
