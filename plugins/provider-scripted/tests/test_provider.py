"""Scripts as the host plays them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pegboard_provider_scripted.provider import ScriptedProvider
from pegboard_provider_scripted.script import read_script

from pegboard import (
    CallResult,
    ChatRequest,
    Done,
    Message,
    PluginError,
    ProviderError,
    Text,
    TextDelta,
)
from pegboard.testing import PluginContract, ProviderContract

pytestmark = pytest.mark.anyio
SCRIPT = """
[[turn]]
when = "(?i)readme"
  [[turn.step]]
  text = "I look."
  calls = [{ name = "file_read", arguments = { path = "README.md" } }]
  [[turn.step]]
  text = "It says: {result}"

[[turn]]
when = "fail"
  [[turn.step]]
  fault = { kind = "rate_limit", times = 2, retry_after = 7, after_chars = 3 }
  text = "abcdef"

[[turn]]
  [[turn.step]]
  text = "You said: {message}"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "script.toml"
    made.write_text(SCRIPT)
    return made


def said(*messages: Message) -> ChatRequest:
    return ChatRequest(messages=messages)


async def done(provider: ScriptedProvider, request: ChatRequest) -> Done:
    events = [event async for event in provider.stream(request)]
    assert isinstance(events[-1], Done)
    return events[-1]


async def test_a_turn_is_played_step_by_step(file: Path) -> None:
    provider = ScriptedProvider(file)
    asked = Message.of("user", "Read the README")
    first = await done(provider, said(asked))
    assert (first.text, first.stop) == ("I look.", "tool_use")
    (call,) = first.calls
    assert (call.name, call.arguments) == ("file_read", '{"path": "README.md"}')
    answer = Message("assistant", (Text(first.text),), calls=first.calls)
    results = Message("tool", results=(CallResult(call.id, call.name, (Text("hello"),)),))
    second = await done(provider, said(asked, answer, results))
    assert (second.text, second.stop, second.calls) == ("It says: hello", "end", ())


async def test_another_provider_goes_on_in_the_same_place(file: Path) -> None:
    asked = Message.of("user", "Read the README")
    one = await done(ScriptedProvider(file), said(asked))
    again = await done(ScriptedProvider(file), said(asked))
    assert one == again


async def test_a_fault_strikes_as_often_as_it_says_and_then_the_step_answers(file: Path) -> None:
    provider = ScriptedProvider(file)
    for _ in range(2):
        seen = []
        with pytest.raises(ProviderError) as raised:
            async for event in provider.stream(said(Message.of("user", "fail"))):
                seen.append(event)
        assert (raised.value.kind, raised.value.retry_after) == ("rate_limit", 7)
        assert [event.text for event in seen if isinstance(event, TextDelta)] == ["abc"]
    assert (await done(provider, said(Message.of("user", "fail")))).text == "abcdef"


async def test_an_edited_script_counts_at_once(file: Path) -> None:
    provider = ScriptedProvider(file)
    file.write_text('[[turn]]\n[[turn.step]]\ntext = "new"')
    assert (await done(provider, said(Message.of("user", "x")))).text == "new"


async def test_a_message_without_an_answer_is_told_with_what_mends_it(file: Path) -> None:
    file.write_text('[[turn]]\nwhen = "a"\n[[turn.step]]\ntext = "x"')
    with pytest.raises(ProviderError, match="no answer") as raised:
        await done(ScriptedProvider(file), said(Message.of("user", "b")))
    assert raised.value.fix is not None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "turn"),
        ("[[turn]]", "step"),
        ("not toml", "no TOML"),
        ('[[turn]]\nwhen = "("\n[[turn.step]]', "regular expression"),
        ('[[turn]]\n[[turn.step]]\nfault = { kind = "odd" }', "must be one of"),
        ('[[turn]]\n[[turn.step]]\ntexts = "x"', "texts"),
    ],
)
def test_a_script_that_is_none_says_where_and_why(file: Path, text: str, told: str) -> None:
    file.write_text(text)
    with pytest.raises(PluginError, match=told) as raised:
        read_script(file)
    assert str(file) in str(raised.value)


def test_a_script_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="can't be read"):
        read_script(tmp_path / "none.toml")


class TestPlugin(PluginContract):
    plugin = "provider-scripted"


class TestProvider(ProviderContract):
    @pytest.fixture(autouse=True)
    def script(self, tmp_path: Path) -> None:
        self.file = tmp_path / "echo.toml"
        self.file.write_text(
            '[[turn]]\nwhen = "echo"\n[[turn.step]]\n'
            'calls = [{ name = "echo", arguments = { text = "hello" } }]\n'
            '[[turn.step]]\ntext = "done: {result}"\n'
            '[[turn]]\n[[turn.step]]\ntext = "Hello."'
        )

    def make_provider(self) -> ScriptedProvider:
        return ScriptedProvider(self.file)
