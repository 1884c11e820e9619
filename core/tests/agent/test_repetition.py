from __future__ import annotations

from pegboard.agent.repetition import RepetitionGuard, signature
from pegboard.contracts.message import ToolCall


def call(name: str, arguments: str = "{}", id: str = "") -> ToolCall:
    return ToolCall(id or f"{name}-{arguments}", name, arguments)


def run(guard: RepetitionGuard, names: str) -> tuple[list[bool], int | None]:
    """Check one call a step; return which were warned about, and where the run was stopped."""
    warned = []
    for position, name in enumerate(names, 1):
        found = guard.check([call(name)])
        if found.stop:
            return warned, position
        warned.append(bool(found.warnings))
    return warned, None


def test_the_same_call_is_warned_about_at_three_and_stopped_at_five() -> None:
    warned, stopped = run(RepetitionGuard(), "aaaaaa")
    assert warned == [False, False, True, False]
    assert stopped == 5


def test_a_call_between_other_work_is_warned_about_once_and_never_stopped() -> None:
    warned, stopped = run(RepetitionGuard(), "axaaybacadaeafag")
    assert stopped is None
    assert warned.count(True) == 1


def test_other_work_in_between_begins_the_count_anew() -> None:
    assert run(RepetitionGuard(), "aaaabaaaa")[1] is None


def test_a_cycle_of_two_is_stopped_after_five_rounds() -> None:
    warned, stopped = run(RepetitionGuard(), "abababababab")
    assert stopped == 10
    assert warned.count(True) == 2
    assert warned[5]


def test_a_cycle_of_three_is_stopped_after_five_rounds() -> None:
    warned, stopped = run(RepetitionGuard(), "abcabcabcabcabcabc")
    assert stopped == 15
    assert warned[8]


def test_a_cycle_is_warned_about_as_a_cycle() -> None:
    guard = RepetitionGuard()
    texts = [text for name in "ababab" for text in guard.check([call(name)]).warnings.values()]
    assert "a, b" in texts[-1] or "b, a" in texts[-1]


def test_four_rounds_of_a_cycle_are_not_stopped() -> None:
    assert run(RepetitionGuard(), "abcabcabcabc")[1] is None
    assert run(RepetitionGuard(), "abababab")[1] is None


def test_a_repeat_that_left_the_window_does_not_count() -> None:
    others = "bcdefghijklmno"
    warned, _ = run(RepetitionGuard(), "aa" + others + "a")
    assert warned[-1] is False


def test_calls_of_one_step_count_each_for_itself() -> None:
    calls = [call("a", id=str(n)) for n in range(3)]
    found = RepetitionGuard().check(calls)
    assert list(found.warnings) == ["2"]
    assert RepetitionGuard().check([call("a", id=str(n)) for n in range(5)]).stop


def test_other_arguments_are_another_call() -> None:
    guard = RepetitionGuard()
    for n in range(10):
        assert not guard.check([call("read", f'{{"page": {n}}}')]).warnings


def test_the_same_arguments_written_otherwise_are_the_same_call() -> None:
    same = [
        '{"path": "a", "n": 1}',
        '{"n":1,"path":"a"}',
        '{ "n": 1.0, "path": "\\u0061" }',
    ]
    assert len({signature(call("read", text)) for text in same}) == 1
    assert signature(call("read", "")) == signature(call("read", "{}"))


def test_arguments_that_are_no_json_are_compared_as_text() -> None:
    assert signature(call("read", "{oops  1")) == signature(call("read", "{oops 1"))
    assert signature(call("read", "{oops")) != signature(call("read", "{oops!"))


def test_values_of_other_types_differ() -> None:
    texts = ['{"a": 1}', '{"a": "1"}', '{"a": true}', '{"a": [1]}', '{"a": null}', "{}"]
    assert len({signature(call("t", text)) for text in texts}) == len(texts)


def test_a_warning_shows_the_call_but_not_all_of_a_long_argument() -> None:
    guard = RepetitionGuard()
    long = '{"text": "' + "x" * 5000 + '"}'
    for _ in range(3):
        found = guard.check([call("write", long)])
    (text,) = found.warnings.values()
    assert "write with" in text
    assert len(text) < 500
