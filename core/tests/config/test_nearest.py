from __future__ import annotations

from pegboard.config.nearest import did_you_mean, nearest


def test_the_nearest_name_is_found_whatever_its_case_and_dashes():
    names = ["max_steps", "model", "provider"]
    assert nearest("maxsteps", names) == "max_steps"
    assert nearest("Max-Steps", names) == "max_steps"
    assert nearest("providr", names) == "provider"


def test_nothing_near_is_nothing():
    assert nearest("zzz", ["model"]) is None
    assert nearest("x", []) is None
    assert did_you_mean("zzz", ["model"]) == ""


def test_the_hint_ends_a_sentence():
    assert did_you_mean("modle", ["model"]) == "; did you mean 'model'?"


def test_the_answer_does_not_depend_on_the_order():
    assert nearest("aa", ["ab", "ac"]) == nearest("aa", ["ac", "ab"])
