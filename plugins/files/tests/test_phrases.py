"""What is said in words to tools for files, as their manifest states it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from pegboard import Intent, match_intent

MANIFEST = json.loads((files("pegboard_files") / "plugin.json").read_text("utf-8"))


def said(text: str, name: str = "file_read") -> list[dict[str, Any]]:
    (tool,) = (tool for tool in MANIFEST["tools"] if tool["name"] == name)
    intents = [Intent(item["pattern"], item.get("arguments", {})) for item in tool["intents"]]
    return [found for intent in intents if (found := match_intent(intent, text)) is not None]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("read README.md", {"path": "README.md"}),
        ("read README.md lines 1 to 3", {"path": "README.md", "offset": 1, "end_line": 3}),
        ("show the file a.py from lines 4-9", {"path": "a.py", "offset": 4, "end_line": 9}),
        ("print lines 2 through 3 of a.py", {"path": "a.py", "offset": 2, "end_line": 3}),
        ("show me the first 20 lines of a.log", {"path": "a.log", "limit": 20}),
    ],
)
def test_a_phrase_is_one_call(text: str, arguments: dict[str, Any]) -> None:
    assert said(text) == [arguments]


@pytest.mark.parametrize("text", ["read lines of a.py", "read a.py lines 3", "count the lines"])
def test_other_words_are_none(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    "text",
    ["What is in this folder?", "what's in here", "list the files here", "show the files here"],
)
def test_the_folder_that_one_is_in_needs_no_name(text: str) -> None:
    assert said(text, "list_dir")[:1] == [{}]
