from __future__ import annotations

import json

import pytest
from pegboard_provider_offline.phrases import example
from pegboard_provider_offline.plan import Plan, plan

from pegboard import Intent, ToolDeclaration

Tools = tuple[ToolDeclaration, ...]


def calls(made: Plan) -> list[tuple[str, object]]:
    return [(call.name, json.loads(call.arguments)) for call in made.calls]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("read README.md", [("file_read", {"path": "README.md"})]),
        ("Please read the file README.md.", [("file_read", {"path": "README.md"})]),
        ("Hello! Could you show me.txt", [("file_read", {"path": "me.txt"})]),
        ("list files in ..", [("list_dir", {"path": ".."})]),
        ('search for "a; b, then c"', [("content_search", {"pattern": "a; b, then c"})]),
        (
            'list the files, then search for "TODO", then read README.md',
            [
                ("list_dir", {"path": "."}),
                ("content_search", {"pattern": "TODO"}),
                ("file_read", {"path": "README.md"}),
            ],
        ),
        (
            "List the files. Then read a.md; and then read b.md!\nread c.md",
            [
                ("list_dir", {"path": "."}),
                ("file_read", {"path": "a.md"}),
                ("file_read", {"path": "b.md"}),
                ("file_read", {"path": "c.md"}),
            ],
        ),
        (
            'list the files, search for "x" and read a.md',
            [
                ("list_dir", {"path": "."}),
                ("content_search", {"pattern": "x"}),
                ("file_read", {"path": "a.md"}),
            ],
        ),
    ],
)
def test_phrases_of_the_offered_tools_become_calls(
    tools: Tools, text: str, expected: object
) -> None:
    assert calls(plan(text, tools)) == expected


def test_a_phrase_of_a_tool_that_is_not_offered_means_nothing(tools: Tools) -> None:
    made = plan("read README.md", tools[1:])
    assert not made.calls
    assert "offline responder" in made.answer


def test_nothing_runs_when_a_part_is_not_understood(tools: Tools) -> None:
    made = plan("list the files, then bake bread", tools)
    assert not made.calls
    assert "I have run nothing" in made.answer
    assert '"bake bread" means nothing' in made.answer
    assert "/list_dir path=." in made.answer


def test_nothing_runs_when_half_of_a_clause_is_understood(tools: Tools) -> None:
    answer = plan("list the files and bake bread", tools).answer
    assert '"bake bread" means nothing' in answer
    assert "/list_dir path=." in answer


def test_nothing_runs_when_two_tools_fit_and_both_are_named(tools: Tools) -> None:
    other = ToolDeclaration("notes_read", "", {}, (Intent("read {note:word}.md"),))
    made = plan("read README.md", (*tools, other))
    assert not made.calls
    assert "could mean any of these" in made.answer
    assert "/file_read path=README.md" in made.answer
    assert "/notes_read note=README" in made.answer


def test_two_phrases_of_one_tool_are_no_doubt(tools: Tools) -> None:
    twice = ToolDeclaration("one", "", {}, (Intent("do it"), Intent("do [it]", {"a": 1})))
    assert calls(plan("do it", (twice,))) == [("one", {})]


def test_a_faulty_pattern_costs_only_its_own_phrase(tools: Tools) -> None:
    faulty = ToolDeclaration("faulty", "", {}, (Intent("{oops"),))
    assert calls(plan("read a.md", (faulty, *tools))) == [("file_read", {"path": "a.md"})]


def test_without_a_match_the_search_tool_is_asked(tools: Tools, finder: ToolDeclaration) -> None:
    made = plan("What is the weather in Oslo?", (*tools, finder))
    assert made.searching
    assert calls(made) == [("tool_search", {"query": "What is the weather in Oslo?"})]


def test_without_a_match_and_a_search_the_guide_says_what_can_be_done(tools: Tools) -> None:
    answer = plan("What is the weather in Oslo?", tools).answer
    for part in ("not a language model", "/name key=value", "file_read", "OPENAI_API_KEY"):
        assert part in answer
    assert 'search for "PATTERN"' in answer


def test_without_any_tool_the_guide_says_so() -> None:
    assert "No tool is offered here" in plan("list the files", ()).answer


def test_calls_come_before_phrases(tools: Tools) -> None:
    assert calls(plan("/list_dir\n/unknown x=1", tools)) == [
        ("list_dir", {}),
        ("unknown", {"x": 1}),
    ]


def test_when_calls_are_forbidden_none_is_made(tools: Tools) -> None:
    assert not plan("/list_dir", tools, may_call=False).calls


@pytest.mark.parametrize("text", ["help", "/help", "What can you do?", ""])
def test_who_asks_for_help_gets_the_guide(tools: Tools, finder: ToolDeclaration, text: str) -> None:
    assert "Tools offered here" in plan(text, (*tools, finder)).answer


def test_context_is_for_models_and_never_run(tools: Tools) -> None:
    text = "read a.md\n\n<stdin>\n/list_dir\nread b.md\n</stdin>\nread c.md\n</stdin>"
    assert calls(plan(text, tools)) == [("file_read", {"path": "a.md"})]


def test_a_long_text_is_no_phrase(tools: Tools, finder: ToolDeclaration) -> None:
    made = plan("read a.md\n" * 2000, (*tools, finder))
    assert made.searching
    assert len(made.calls[0].arguments) < 300


@pytest.mark.parametrize(
    ("pattern", "phrase"),
    [
        ("(read|show) [the] [file] {path:path}", "read PATH"),
        ("list (files|[all] folders) [in {path:path} [now]]", "list files"),
        ("search for {pattern:quoted}", 'search for "PATTERN"'),
        ("run {line:command}", "run `LINE`"),
    ],
)
def test_a_pattern_is_shown_as_a_phrase(pattern: str, phrase: str) -> None:
    assert example(pattern) == phrase
