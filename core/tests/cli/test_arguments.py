from __future__ import annotations

from pathlib import Path

import pytest

from pegboard.cli.tools.arguments import arguments_of
from pegboard.contracts.errors import UsageError

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer"},
        "deep": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "mode": {"enum": ["r", "w"]},
        "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "ratio": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    },
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {}),
        (["path=a=b"], {"path": "a=b"}),
        (["path="], {"path": ""}),
        (["path=5"], {"path": "5"}),
        (["limit=5"], {"limit": 5}),
        (["limit=many"], {"limit": "many"}),
        (["deep=true"], {"deep": True}),
        (['names=["a", "b"]'], {"names": ["a", "b"]}),
        (["names=a"], {"names": ["a"]}),
        (["names=a", "names=b", "names=c"], {"names": ["a", "b", "c"]}),
        (["mode=r"], {"mode": "r"}),
        (["either=null"], {"either": "null"}),
        (["either:=null"], {"either": None}),
        (["ratio=0.5"], {"ratio": 0.5}),
        (["ratio=null"], {"ratio": None}),
        (["unknown=5"], {"unknown": "5"}),
    ],
)
def test_words_become_arguments_as_the_schema_says(words: list[str], expected: dict):
    assert arguments_of(words, SCHEMA) == expected


def test_json_goes_to_the_tool_as_it_was_typed_even_when_it_is_broken():
    assert arguments_of(['{"path": '], SCHEMA) == '{"path": '


def test_a_value_can_come_from_a_file(tmp_path: Path):
    (tmp_path / "text").write_text("line\n", encoding="utf-8")
    assert arguments_of([f"path=@{tmp_path / 'text'}"], SCHEMA) == {"path": "line\n"}


@pytest.mark.parametrize("words", [["README.md"], ["=x"], ["limit:=nope"], ["path=@/no/such"]])
def test_a_word_that_means_nothing_is_refused_with_a_way_out(words: list[str]):
    with pytest.raises(UsageError):
        arguments_of(words, SCHEMA)
