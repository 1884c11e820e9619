from __future__ import annotations

import json

import pytest

from pegboard.cli.output import GOOD, JSON_VERSION, Output, printable, width


def test_columns_are_aligned_whatever_the_script_of_their_text(capsys: pytest.CaptureFixture[str]):
    Output().table(["NAME", "ABOUT"], [("ab", "one"), ("天気", "two"), ("é́", "three")])
    lines = capsys.readouterr().out.splitlines()
    assert [
        width(line[: line.index(word)])
        for line, word in zip(lines, ("ABOUT", "one", "two", "three"), strict=True)
    ] == [6, 6, 6, 6]


def test_a_column_of_numbers_is_aligned_to_the_right(capsys: pytest.CaptureFixture[str]):
    Output().table(["N", "X"], [("1", "a"), ("100", "b")], right=frozenset({0}))
    assert capsys.readouterr().out.splitlines() == ["  N  X", "  1  a", "100  b"]


def test_nothing_is_cut_and_nothing_is_coloured_in_a_pipe(capsys: pytest.CaptureFixture[str]):
    Output().table(["A"], [("x" * 500,)], paint={0: lambda _: GOOD})
    assert "x" * 500 + "\n" in capsys.readouterr().out


def test_colour_can_be_insisted_on(capsys: pytest.CaptureFixture[str]):
    Output(color=True).line("fine", GOOD)
    assert capsys.readouterr().out == "\x1b[32mfine\x1b[0m\n"


def test_text_of_a_plugin_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]):
    Output(color=True).table(["ABOUT"], [("\x1b[2Jgone\u202etxt\nnext",)])
    shown = capsys.readouterr().out
    assert "\x1b[2J" not in shown and "\u202e" not in shown
    assert r"\x1b[2Jgone\u202etxt next" in shown


@pytest.mark.parametrize("text", ["plain", "two\nlines", "tab\tstop", "天気 é"])
def test_ordinary_text_is_printed_as_it_is(text: str):
    assert printable(text) == text


def test_json_is_one_object_with_its_version_first(capsys: pytest.CaptureFixture[str]):
    Output().json({"plugins": ["é"]})
    shown = capsys.readouterr().out
    assert json.loads(shown) == {"version": JSON_VERSION, "plugins": ["é"]}
    assert shown.startswith('{\n  "version": 1,')


def test_fields_without_a_value_are_left_out(capsys: pytest.CaptureFixture[str]):
    Output().fields([("why", "one\ntwo"), ("fix", ""), ("other", "x")])
    assert capsys.readouterr().out == "why    one\n       two\nother  x\n"
