"""`pegboard plugins` list, show, why, order, inspect, enable and disable."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

TOOL = {
    "name": "forecast",
    "description": "Tell the weather.\n\nMore.",
    "category": "web",
    "effects": ["net_read"],
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def test_an_empty_environment_says_what_to_install(here):
    ended = here.run("plugins", "list")
    assert ended.code == 0
    assert ended.out == (
        "No plugin is installed.\nInstall the standard ones: pip install pegboard-standard\n"
    )
    assert here.run("plugins", "list", "--json").json == {
        "version": 1,
        "plugins": [],
        "problems": [],
    }


def test_the_list_shows_state_and_what_each_provides(here):
    here.plugin("weather", manifest={"tools": [TOOL], "summary": "Weather."})
    here.plugin("old", manifest={"api": "<1"})
    ended = here.run("plugins", "list")
    lines = ended.out.splitlines()
    assert ended.code == 0
    assert lines[0].split() == ["PLUGIN", "VERSION", "STATE", "PROVIDES"]
    assert lines[1].split() == ["weather", "1.0.0", "ready", "tool", "forecast"]
    assert "old (pegboard-old 1.0.0) is incompatible" in ended.out
    assert "  why  " in ended.out and "  fix  " in ended.out


def test_the_list_tells_of_a_name_that_two_plugins_want(here):
    here.plugin("rain", manifest={"tools": [TOOL]})
    here.plugin("weather", manifest={"tools": [TOOL]})
    (problem,) = here.run("plugins", "list", "--json").json["problems"]
    assert "forecast" in problem["message"]
    assert "pegboard config set names.forecast" in problem["fix"]


def test_an_alias_that_is_a_tools_own_name_is_no_clash(here):
    other = {**TOOL, "name": "outlook", "aliases": ["forecast"]}
    here.plugin("rain", manifest={"tools": [other]})
    here.plugin("weather", manifest={"tools": [TOOL]})
    assert here.run("plugins", "list", "--json").json["problems"] == []


def test_json_of_the_list_says_all_of_it(here):
    here.plugin("weather", manifest={"tools": [TOOL], "summary": "Weather."})
    (record,) = here.run("plugins", "list", "--json").json["plugins"]
    location = record.pop("location")
    assert location.endswith("pegboard_weather-1.0.0.dist-info")
    assert record == {
        "id": "weather",
        "distribution": "pegboard-weather",
        "version": "1.0.0",
        "state": "ready",
        "usable": True,
        "reason": "",
        "fix": None,
        "first_party": False,
        "summary": "Weather.",
        "provides": {"tool": ["forecast"]},
    }


@pytest.mark.parametrize("kind", ["provider", "providers", "skill-sources"])
def test_the_list_can_be_narrowed_to_a_kind(here, kind):
    fact = {"kind": kind.removesuffix("s").replace("-", "_"), "name": "x"}
    here.plugin("mind", manifest={"tools": [], "contributions": [fact]})
    here.plugin("weather")
    listed = here.run("plugins", "list", "--json", "--provides", kind).json["plugins"]
    assert [record["id"] for record in listed] == ["mind"]


def test_a_kind_that_does_not_exist_is_refused(here):
    ended = here.run("plugins", "list", "--provides", "providr")
    assert ended.code == 2
    assert "Fix: pegboard plugins list --provides provider" in ended.err


def test_times_are_told_by_phase(here):
    here.plugin("weather")
    assert {"scan", "manifests", "decide"} <= here.run("plugins", "list", "--json", "--times").json[
        "times_ms"
    ].keys()
    assert "manifest of weather" in here.run("plugins", "list", "--times").out


def test_show_tells_tools_settings_and_where_they_come_from(here):
    settings = {
        "type": "object",
        "properties": {
            "units": {"type": "string", "default": "metric", "description": "Units to use."},
            "days": {"type": "integer", "default": 3, "description": "Days ahead."},
        },
    }
    here.plugin("weather", manifest={"tools": [TOOL], "config": settings, "secrets": ["key"]})
    here.write_config("[plugins.weather]\ndays = 5\n")
    ended = here.run("plugins", "show", "weather")
    assert ended.code == 0, ended.err
    for text in ("forecast", "net_read", "Tell the weather.", "key", "Units to use."):
        assert text in ended.out
    shown = here.run("plugins", "show", "weather", "--json").json["plugin"]
    assert [(item["key"], item["value"]) for item in shown["settings"]] == [
        ("plugins.weather.days", 5),
        ("plugins.weather.units", "metric"),
    ]
    assert shown["settings"][0]["source"] == str(here.config)
    assert shown["manifest"]["tools"][0]["name"] == "forecast"


@pytest.mark.parametrize("words", [["show"], ["why"], ["enable"], ["disable"], ["uninstall"]])
def test_an_id_that_nobody_has_gets_a_suggestion(here, words):
    here.plugin("weather")
    ended = here.run("plugins", *words, "wether")
    assert ended.code == 4
    assert "weather" in ended.err and "Traceback" not in ended.err


def test_why_tells_the_reason_the_fix_and_the_kept_traceback(here):
    here.plugin("weather", manifest={"tools": [TOOL]})
    assert here.run("tools", "call", "forecast", "city=x").code != 0
    ended = here.run("plugins", "why", "weather")
    assert ended.code == 0
    assert "weather (pegboard-weather 1.0.0) is failed" in ended.out
    assert "RuntimeError: imported" in ended.out
    assert (
        "Traceback"
        in here.run("plugins", "why", "weather", "--json").json["plugin"]["details"]["traceback"]
    )


def test_why_names_both_distributions_of_an_id(here):
    here.plugin("weather")
    here.plugin("weather", name="other-weather", package="other_weather")
    ended = here.run("plugins", "why", "weather")
    assert "pegboard-weather 1.0.0" in ended.out and "other-weather 1.0.0" in ended.out
    assert len(here.run("plugins", "why", "weather", "--json").json["others"]) == 1


def test_order_is_printable(here):
    here.plugin("a", manifest={"after": ["b"]})
    here.plugin("b")
    ended = here.run("plugins", "order", "--json")
    assert [item["id"] for item in ended.json["order"]] == ["b", "a"]
    assert here.run("plugins", "order").out.splitlines()[1].split() == ["1", "b"]


def test_disable_and_enable_are_kept_in_config_with_its_comments(here):
    here.working_plugin("weather")
    here.write_config("# mine\n[agent]\nmax_steps = 5  # few\n")
    ended = here.run("plugins", "disable", "weather")
    assert (ended.code, ended.out) == (0, "weather is disabled.\n")
    assert '"weather"' in here.config.read_text()
    assert "# few" in here.config.read_text()
    (record,) = here.run("plugins", "list", "--json").json["plugins"]
    assert (record["state"], record["usable"]) == ("disabled", False)
    assert record["fix"] == "pegboard plugins enable weather"
    assert here.run("plugins", "disable", "weather").code == 0
    ended = here.run("plugins", "enable", "weather")
    assert (ended.code, ended.out) == (0, "weather is ready.\n")
    assert here.run("plugins", "list", "--json").json["plugins"][0]["usable"]


def test_several_plugins_are_switched_at_once_or_none(here):
    here.plugin("one")
    here.plugin("two")
    assert here.run("plugins", "disable", "one", "tow").code == 4
    assert not here.config.exists()
    assert here.run("plugins", "disable", "one", "two", "--json").json["plugins"][1]["id"] == "two"


def test_enable_says_when_something_else_still_keeps_it_out(here):
    here.plugin("weather", manifest={"api": ">=9"})
    ended = here.run("plugins", "enable", "weather")
    assert ended.code == 0
    assert "incompatible" in ended.err


def test_enable_forgets_a_crash(here):
    here.plugin("weather", code="import os; os._exit(3)\n", manifest={"tools": [TOOL]})
    assert here.run("tools", "call", "forecast").code == 3
    (record,) = here.run("plugins", "list", "--json").json["plugins"]
    assert record["state"] == "failed"
    assert here.run("plugins", "enable", "weather").code == 0
    assert here.run("plugins", "list", "--json").json["plugins"][0]["state"] == "ready"


def test_enable_takes_an_id_off_the_list_whose_package_is_gone(here):
    here.write_config('[plugins]\ndisabled = ["gone", "other"]\n')
    assert here.run("plugins", "enable", "gone").code == 0
    assert "gone" not in here.config.read_text()


def _wheel(folder: Path, name: str = "acme", version: str = "2.0") -> Path:
    info = f"{name}-{version}.dist-info"
    file = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "raise RuntimeError('never')\n")
        wheel.writestr(f"{name}.pth", "import os\n")
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        wheel.writestr(
            f"{info}/entry_points.txt",
            f"[pegboard.plugins]\n{name} = {name}:plugin\n[console_scripts]\nrunme = {name}:main\n",
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return file


def test_inspect_of_a_wheel_warns_of_what_runs_beside_the_plugin(here):
    wheel = _wheel(here.work)
    ended = here.run("plugins", "inspect", str(wheel))
    assert ended.code == 0, ended.err
    assert "acme 2.0" in ended.out
    assert "acme.pth" in ended.out and "runme" in ended.out
    assert here.run("plugins", "inspect", str(wheel), "--json").json["changes"] is None


def test_inspect_compares_with_what_is_installed(here):
    here.plugin("acme", name="acme")
    ended = here.run("plugins", "inspect", str(_wheel(here.work)))
    assert "Compared with the installed version" in ended.out
    assert "version 1.0.0 -> 2.0" in ended.out


def test_inspect_of_nothing_is_one_message(here):
    ended = here.run("plugins", "inspect", "nothing")
    assert ended.code == 2
    assert "Fix:" in ended.err


def test_rescan_tells_what_is_there(here):
    here.plugin("weather")
    ended = here.run("plugins", "rescan")
    assert ended.code == 0
    assert "Found now: 1 ready." in ended.out
