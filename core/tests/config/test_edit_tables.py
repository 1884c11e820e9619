"""A table is added to a list of tables; comments and layout of the file stay."""

from __future__ import annotations

import tomllib

import pytest

from pegboard.config.edit_tables import in_one_line, with_table
from pegboard.contracts.errors import ConfigError, UsageError

RULES = """\
# mine
[policy]
guest_tools = ["a"]  # note

# first rule
# of two
[[policy.rules]]
action = "deny"
tool = "x"

# second
[[policy.rules]]
action = "ask"

[agent]
model = "m"
"""


def rules(text):
    return tomllib.loads(text)["policy"]["rules"]


@pytest.mark.parametrize("at", [0, 1, 2, 5, None])
def test_a_table_is_put_at_its_place_and_every_comment_stays_above_its_own_table(at):
    text = with_table(RULES, "policy.rules", {"action": "allow", "exact": {"a": [1]}}, at=at)
    place = 2 if at is None else min(at, 2)
    assert [rule["action"] for rule in rules(text)].index("allow") == place
    assert rules(text)[place] == {"action": "allow", "exact": {"a": [1]}}
    assert '# first rule\n# of two\n[[policy.rules]]\naction = "deny"' in text
    assert '# second\n[[policy.rules]]\naction = "ask"' in text
    assert 'guest_tools = ["a"]  # note' in text
    assert tomllib.loads(text)["agent"] == {"model": "m"}


def test_a_table_that_is_there_changes_nothing():
    text = with_table(RULES, "policy.rules", {"action": "allow", "exact": {"a": {"b": True}}}, at=1)
    again = with_table(text, "policy.rules", {"action": "allow", "exact": {"a": {"b": True}}}, at=0)
    assert again == text


def test_a_list_that_is_missing_is_made():
    assert rules(with_table("", "policy.rules", {"action": "ask"})) == [{"action": "ask"}]
    text = with_table("[policy]\nrules = []\n", "policy.rules", {"action": "ask"}, at=0)
    assert rules(text) == [{"action": "ask"}]


def test_a_list_in_one_line_stays_in_one_line():
    text = '[sandbox]\ngrants = [{path = "/a"}] # mine\n'
    added = with_table(text, "sandbox.grants", {"path": "/b", "mode": "rw"}, replaces="path")
    assert added == '[sandbox]\ngrants = [{path = "/a"}, {path = "/b", mode = "rw"}] # mine\n'


@pytest.mark.parametrize(
    "text",
    [
        '[sandbox]\ngrants = [{path = "/a", mode = "ro"}, {path = "/b"}, {path = "/a"}]\n',
        '[[sandbox.grants]]\npath = "/a"\n# b\n[[sandbox.grants]]\npath = "/b"\n'
        '[[sandbox.grants]]\npath = "/a"\n',
    ],
)
def test_tables_with_the_same_value_give_way(text):
    changed = with_table(text, "sandbox.grants", {"path": "/a", "mode": "rw"}, replaces="path")
    assert tomllib.loads(changed)["sandbox"]["grants"] == [
        {"path": "/a", "mode": "rw"},
        {"path": "/b"},
    ]


def test_a_head_inside_of_a_text_is_no_head():
    text = 'note = """\n[[policy.rules]]\n"""\n[[policy.rules]]\naction = "ask"\n'
    changed = with_table(text, "policy.rules", {"action": "allow"}, at=0)
    assert tomllib.loads(changed)["note"] == "[[policy.rules]]\n"
    assert rules(changed) == [{"action": "allow"}, {"action": "ask"}]


@pytest.mark.parametrize("value", [None, {1}, "\ud800", {"a": None}, [object()]])
def test_what_toml_can_not_hold_is_refused(value):
    with pytest.raises(ConfigError):
        with_table(RULES, "policy.rules", {"action": value})


@pytest.mark.parametrize("text", ["policy = 1", "policy.rules = 1", "policy.rules = [1]"])
def test_where_no_list_of_tables_can_be_nothing_is_put(text):
    with pytest.raises(ConfigError):
        with_table(text, "policy.rules", {"action": "ask"})
    with pytest.raises(UsageError):
        with_table("", "policy rules", {"action": "ask"})


def test_a_value_is_shown_in_one_line():
    assert in_one_line({"path": "/a", "more": {"b": [1]}}) == '{path = "/a", more = {b = [1]}}'
    assert in_one_line('a"\n') == '"a\\"\\n"'
    assert in_one_line(True) == "true"
    with pytest.raises(ConfigError):
        in_one_line(None)
    with pytest.raises(ConfigError):
        in_one_line({"a": None})
