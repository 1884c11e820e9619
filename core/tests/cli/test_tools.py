"""`pegboard tools` and `pegboard why`, through a real host."""

from __future__ import annotations

import json

import pytest

CODE = '''
from typing import Annotated
from pegboard import Arg, Plugin, ToolFailure

plugin = Plugin(summary="Weather")


@plugin.tool(effects={"net_read"}, category="web")
async def forecast(city: Annotated[str, Arg("City name")], days: int = 1) -> str:
    """Tell the weather of a city.

    For today and the days that follow.
    """
    if city == "nowhere":
        raise ToolFailure("There is no such city.", fix="Name another one.")
    return f"{city} {days!r}: sunny"


@plugin.tool(effects={"read"})
def echo(text: str) -> str:
    """Return the text."""
    print("noise of a tool")
    return text
'''


@pytest.fixture
def weather(here):
    here.plugin("weather", code=CODE, manifest=None)
    ended = here.run("plugins", "build", "weather")
    assert ended.code == 0, ended.err
    return here


def test_the_list_names_tools_and_imports_nothing(weather):
    ended = weather.run("tools", "list")
    assert ended.code == 0, ended.err
    assert "forecast" in ended.out and "Tell the weather of a city." in ended.out
    names = [tool["canonical"] for tool in weather.run("tools", "list", "--json").json["tools"]]
    assert {"weather:forecast", "weather:echo"} <= set(names)


def test_what_is_broken_is_told_once_beside_the_answer(weather):
    weather.plugin("old", manifest={"api": ">=9"})
    ended = weather.run("tools", "list", "--json")
    assert ended.code == 0 and ended.json["tools"]
    assert ended.err.count("old (pegboard-old 1.0.0) is incompatible") == 1
    assert "Fix:" in ended.err
    weather.run("plugins", "disable", "old")
    assert weather.run("tools", "list").err == ""


def test_a_guest_is_offered_only_what_was_opened_to_guests(weather):
    tools = weather.run("tools", "list", "--as", "guest", "--json").json["tools"]
    assert not [tool for tool in tools if tool["plugin"] == "weather"]
    everything = weather.run("tools", "list", "--as", "guest", "--all", "--json").json["tools"]
    verdicts = {tool["canonical"]: tool["verdict"]["outcome"] for tool in everything}
    assert verdicts["weather:forecast"] == "deny"
    opened = weather.run(
        "--set", 'policy.guest_tools=["weather:echo"]', "tools", "list", "--as", "guest", "--json"
    ).json["tools"]
    assert "weather:echo" in [tool["canonical"] for tool in opened]


def test_show_tells_parameters_and_facts(weather):
    ended = weather.run("tools", "show", "forecast")
    assert ended.code == 0, ended.err
    for text in ("weather:forecast", "City name", "required", "net_read", "integer"):
        assert text in ended.out
    assert (
        weather.run("tools", "show", "forecast", "--json").json["tool"]["spec"]["name"]
        == "forecast"
    )


@pytest.mark.parametrize(
    "words", [["city=Oslo", "days=2"], ['{"city": "Oslo", "days": 2}'], ["city=Oslo", "days:=2"]]
)
def test_call_prints_the_result_alone(weather, words):
    ended = weather.run("tools", "call", "forecast", *words)
    assert ended.code == 0, ended.err
    assert ended.out == "Oslo 2: sunny\n"


def test_arguments_can_come_from_standard_input(weather):
    ended = weather.run("tools", "call", "weather:echo", "-", stdin='{"text": "hi"}')
    assert (ended.code, ended.out) == (0, "hi\n"), ended.err


def test_what_a_tool_prints_stays_out_of_the_answer(weather):
    ended = weather.run("tools", "call", "echo", "text=hi", "--json")
    assert ended.code == 0, ended.err
    assert "noise" not in ended.out
    lines = ended.json["result"]["output"].splitlines()
    assert lines[1:-1] == ["hi"]


def test_a_tool_that_fails_ends_with_8_and_its_fix(weather):
    ended = weather.run("tools", "call", "forecast", "city=nowhere")
    assert ended.code == 8
    assert "There is no such city." in ended.err and "Name another one." in ended.err
    answer = weather.run("tools", "call", "forecast", "city=nowhere", "--json")
    assert answer.code == 8
    assert "There is no such city." in answer.json["result"]["error"]["message"]


@pytest.mark.parametrize(
    "words",
    [
        ["forecast", '{"city": '],
        ["forecast", "days=many", "city=Oslo"],
        ["forecast"],
        ["forecast", "city=Oslo", "planet=Mars"],
        ["forecats", "city=Oslo"],
    ],
)
def test_a_bad_call_is_one_message_with_a_next_step(weather, words):
    ended = weather.run("tools", "call", *words)
    assert ended.code == 8, ended.err
    assert ended.err.startswith("Error: ") and "Traceback" not in ended.err
    assert ended.out == ""


def test_trace_prints_the_stages_of_the_dispatch_beside_the_answer(weather):
    ended = weather.run("tools", "call", "echo", "text=hi", "--trace")
    assert (ended.code, ended.out) == (0, "hi\n"), ended.err
    assert " ms  " in ended.err
    traced = weather.run("tools", "call", "echo", "text=hi", "--trace", "--json").json["trace"]
    assert len(traced) > 3
    assert [item["at_ms"] for item in traced] == sorted(item["at_ms"] for item in traced)


GUARD = """
from pegboard import Ask, Plugin

plugin = Plugin()

@plugin.hook
def pegboard_tool_guard(event):
    return Ask(f"Really call {event.tool.spec.name}?")
"""


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 8)])
def test_a_call_that_needs_approval_is_put_to_the_person(weather, typed, code):
    weather.plugin(
        "careful", code=GUARD, manifest={"tools": [], "hooks": {"pegboard_tool_guard": []}}
    )
    ended = weather.in_terminal("tools", "call", "echo", "text=hello", typed=typed)
    assert ended.code == code, ended.out
    assert "Really call echo?" in ended.out
    assert ("\nhello\n" in ended.out) is (code == 0)


def test_a_call_that_needs_approval_is_refused_where_nobody_can_answer(weather):
    weather.plugin(
        "careful", code=GUARD, manifest={"tools": [], "hooks": {"pegboard_tool_guard": []}}
    )
    ended = weather.run("tools", "call", "echo", "text=hello")
    assert (ended.code, ended.out) == (8, "")


def test_a_guest_may_not_call_what_is_not_open_to_guests(weather):
    ended = weather.run("tools", "call", "echo", "text=hi", "--as", "guest")
    assert ended.code == 8
    assert ended.out == ""


def test_search_finds_by_words(weather):
    ended = weather.run("tools", "search", "weather", "city")
    assert ended.code == 0, ended.err
    assert "forecast" in ended.out


def test_why_tells_the_rule(weather):
    ended = weather.run("why", "forecast", "--as", "guest")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("A guest may not call forecast")
    assert "rule" in ended.out
    assert weather.run("why", "forecast").out.startswith("The operator may call forecast")
    verdict = weather.run("why", "forecast", "--as", "guest", "--json").json["verdict"]
    assert verdict["outcome"] == "deny"


def test_why_of_an_unknown_tool_suggests_one(weather):
    ended = weather.run("why", "forecats")
    assert ended.code == 2
    assert "forecast" in ended.err


def test_a_clash_of_names_is_explained(weather):
    weather.plugin(
        "climate",
        manifest={
            "tools": [
                {
                    "name": "forecast",
                    "description": "Tell.",
                    "effects": [],
                    "category": "x",
                    "parameters": {"type": "object", "properties": {}},
                }
            ]
        },
    )
    ended = weather.run("tools", "show", "forecast")
    assert ended.code == 2
    assert "climate:forecast" in ended.err and "weather:forecast" in ended.err
    assert "pegboard config set names.forecast" in ended.err
    assert weather.run("tools", "show", "climate:forecast").code == 0


def test_the_workspace_is_the_folder_that_was_named(weather, tmp_path):
    ended = weather.run("tools", "call", "echo", "text=x", "--workspace", str(tmp_path / "none"))
    assert ended.code == 2
    assert "mkdir" in ended.err


def test_with_no_plugin_at_all_the_list_says_what_to_install(here):
    ended = here.run("tools", "list")
    assert ended.code == 0
    assert json.loads(here.run("tools", "list", "--json").out)["as"] == "operator"


STUCK = '''
import time
from pegboard import Plugin

plugin = Plugin(summary="Stuck")


@plugin.tool(effects={"read"}, timeout_s=0.3)
def wait() -> str:
    """Wait far longer than it may."""
    time.sleep(600)
    return "done"
'''


def test_a_tool_that_is_stuck_in_a_thread_does_not_keep_the_command(here):
    here.plugin("stuck", code=STUCK, manifest=None)
    ended = here.run("tools", "call", "wait")  # would be stopped by the test's own limit
    assert ended.code == 8
    assert "0.3 s" in ended.err


def test_a_tool_of_a_disabled_plugin_is_explained_to_a_person(weather):
    weather.run("plugins", "disable", "weather")
    ended = weather.run("tools", "call", "echo", "text=hi")
    assert ended.code == 4
    assert "comes from the plugin weather" in ended.err
    assert "pegboard plugins enable weather" in ended.err


def test_a_guest_is_not_told_which_plugin_would_bring_a_tool(weather):
    weather.run("plugins", "disable", "weather")
    ended = weather.run("tools", "call", "echo", "text=hi", "--as", "guest")
    assert ended.code == 8
    assert "weather" not in ended.err
