"""What is said in words to `git_read`, as its manifest states it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from pegboard import Intent, match_intent

MANIFEST = json.loads((files("pegboard_git") / "plugin.json").read_text("utf-8"))
(TOOL,) = (tool for tool in MANIFEST["tools"] if tool["name"] == "git_read")


def said(text: str) -> list[dict[str, Any]]:
    intents = [Intent(item["pattern"], item.get("arguments", {})) for item in TOOL["intents"]]
    return [found for intent in intents if (found := match_intent(intent, text)) is not None]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("what changed in the last commit?", {"action": "show"}),
        ("Which files changed in the latest commit?", {"action": "show"}),
        ("what did the last commit change?", {"action": "show"}),
        ("show me the last commit", {"action": "show"}),
        ("show me the last 5 commits", {"action": "log", "limit": 5}),
        ("git status", {"action": "status"}),
    ],
)
def test_a_phrase_is_one_call(text: str, arguments: dict[str, Any]) -> None:
    assert said(text) == [arguments]


@pytest.mark.parametrize("text", ["undo the last commit", "what changed", "commit"])
def test_other_words_are_none(text: str) -> None:
    assert said(text) == []
