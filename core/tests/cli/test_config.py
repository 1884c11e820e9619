"""`pegboard config`, `secret`, `init` and `trust`."""

from __future__ import annotations

import json
import stat
import tomllib

import pytest

from pegboard.config.schema import CORE_SCHEMA, check

SETTINGS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "units": {"enum": ["metric", "imperial"], "default": "metric", "description": "Units."},
        "token": {"type": "string", "writeOnly": True, "format": "password"},
        "place": {"$ref": "#/$defs/Place"},
    },
    "$defs": {"Place": {"type": "object", "properties": {"city": {"type": "string"}}}},
}


def test_set_keeps_comments_and_get_reads_it_back(here):
    here.write_config("# about the agent\n[agent]\nmax_steps = 5 # few\n")
    ended = here.run("config", "set", "agent.max_steps", "7")
    assert (ended.code, ended.out) == (0, "agent.max_steps = 7\n")
    assert here.config.read_text() == "# about the agent\n[agent]\nmax_steps = 7 # few\n"
    assert here.run("config", "get", "agent.max_steps").out == "7\n"
    facts = here.run("config", "get", "agent.max_steps", "--json").json
    assert facts["source"] == str(here.config)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("plain words", "plain words"), ('"5"', "5"), ("", ""), ("#1", "#1")],
)
def test_a_value_that_is_no_toml_is_text(here, value, expected):
    assert here.run("config", "set", "agent.instructions", value).code == 0
    assert tomllib.loads(here.config.read_text())["agent"]["instructions"] == expected


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("agent.max_stepz", "5", "max_steps"),
        ("agent.max_steps", "many", "whole number"),
        ("agnet.max_steps", "5", "agent"),
        ("names.search", "nocolon", "names"),
    ],
)
def test_a_wrong_setting_is_refused_and_nothing_is_written(here, key, value, hint):
    ended = here.run("config", "set", key, value)
    assert ended.code == 3
    assert hint in ended.err and "Fix:" in ended.err
    assert not here.config.exists()


def test_a_wrong_setting_of_a_plugin_is_refused_as_well(here):
    here.plugin("weather", manifest={"config": SETTINGS})
    assert here.run("config", "set", "plugins.weather.units", "imperial").code == 0
    ended = here.run("config", "set", "plugins.weather.units", "imperail")
    assert ended.code == 3
    assert "imperial" in ended.err
    assert 'units = "imperial"' in here.config.read_text()


def test_a_value_reaches_a_pipe_unchanged_and_a_terminal_made_visible(here):
    here.write_config('[agent]\ninstructions = "a\\u001b[2Jb"\n')
    assert here.run("config", "get", "agent.instructions").out == "a\x1b[2Jb\n"
    assert here.in_terminal("config", "get", "agent.instructions").out == "a\\x1b[2Jb\n"


def test_unset_takes_a_key_away(here):
    here.write_config("[agent]\nmax_steps = 5\n")
    assert here.run("config", "unset", "agent.max_steps").code == 0
    assert here.run("config", "get", "agent.max_steps").out == "100\n"
    assert here.run("config", "unset", "agent.max_steps").code == 2


def test_a_setting_that_is_known_but_not_set_ends_with_1_and_an_unknown_one_with_2(here):
    assert here.run("config", "get", "tools.allowed").code == 1
    ended = here.run("config", "get", "tools.alowed")
    assert ended.code == 2
    assert "tools.allowed" in ended.err


def test_an_overridden_key_is_said_to_be_overridden(here):
    env = {"PEGBOARD__AGENT__MAX_STEPS": "9"}
    ended = here.run("config", "set", "agent.max_steps", "7", env=env)
    assert ended.code == 0
    assert "PEGBOARD__AGENT__MAX_STEPS still decides" in ended.err
    assert here.run("config", "get", "agent.max_steps", env=env).out == "9\n"


def test_show_hides_what_is_secret_and_names_the_source(here):
    here.plugin("weather", manifest={"config": SETTINGS})
    here.write_config("[plugins.weather]\ntoken = 'hush'\n[agent]\nmax_steps = 5\n")
    ended = here.run("config", "show")
    assert ended.code == 0, ended.err
    assert "hush" not in ended.out
    assert "agent.max_steps" in ended.out and str(here.config) in ended.out
    settings = here.run("config", "show", "--json").json["settings"]
    assert settings["plugins.weather.token"]["value"] == "***"
    assert settings["agent.max_steps"] == {"value": 5, "source": str(here.config)}


KEYED = {
    "$ref": "#/$defs/Keyed",
    "$defs": {
        "Keyed": {
            "type": "object",
            "properties": {
                "api_key": {"type": "string", "writeOnly": True, "format": "password"},
                "url": {"type": "string"},
            },
        }
    },
}
HUSH = """
[plugins.weather]
token = 'hush'
tokn = 'hush'
[plugins.gone]
token = 'hush'
[plugins.plain]
token = 'hush'
[providers.keyed]
api_key = 'hush'
url = 'https://keyed.test'
[providers.named]
type = 'keyed'
api_key = 'hush'
[providers.full]
type = 'weather:keyed'
api_key = 'hush'
[providers.gone]
type = 'gone'
api_key = 'hush'
[providers.odd]
type = 'odd'
api_key = 'hush'
[agent]
api_key = 'hush'
"""


def test_nothing_that_may_be_secret_is_printed_by_any_command(here):
    kinds = [
        {"kind": "provider", "name": "keyed", "config": KEYED},
        {"kind": "provider", "name": "odd", "config": {"$ref": "#/nowhere"}},
    ]
    here.plugin("weather", manifest={"config": SETTINGS, "contributions": kinds})
    here.plugin("plain")
    here.write_config(HUSH)
    for words in [
        ("config", "show"),
        ("config", "show", "--json"),
        ("config", "get", "plugins"),
        ("config", "get", "plugins.weather.token"),
        ("config", "get", "providers", "--json"),
        ("config", "check"),
        ("plugins", "show", "weather"),
        ("plugins", "show", "weather", "--json"),
        ("plugins", "why", "weather", "--json"),
        ("doctor",),
    ]:
        ended = here.run(*words)
        assert "hush" not in ended.out + ended.err, words
    settings = here.run("config", "show", "--json").json["settings"]
    assert settings["providers.keyed.url"]["value"] == "https://keyed.test"
    assert settings["providers.named.type"]["value"] == "keyed"
    assert settings["providers.full.api_key"]["value"] == "***"


def test_a_secret_that_is_set_is_not_said_back(here):
    here.plugin("weather", manifest={"config": SETTINGS})
    ended = here.run("config", "set", "plugins.weather.token", "hush")
    assert (ended.code, ended.out) == (0, 'plugins.weather.token = "***"\n')
    assert "hush" in here.config.read_text()


def test_check_names_every_problem_with_its_fix(here):
    here.plugin("weather", manifest={"config": SETTINGS})
    here.write_config("[agent]\nmax_step = 5\n[plugins.weather]\nunits = 'x'\n[providers.a]\n")
    ended = here.run("config", "check")
    assert ended.code == 3
    assert "max_steps" in ended.err and "units" in ended.err and "providers.a" in ended.err
    assert len(here.run("config", "check", "--json").json["problems"]) == 3
    here.write_config("")
    assert here.run("config", "check").code == 0


def test_a_channel_of_a_plugin_without_a_manifest_is_not_called_wrong(here):
    code = """
from pegboard import Plugin

plugin = Plugin(summary="Pigeons.")


@plugin.channel("pigeon")
def pigeon(context, settings):
    return None
"""
    here.plugin("post", code=code, manifest=None)
    here.write_config('[channels.mine]\ntype = "pigeon"\n')
    ended = here.run("config", "check")
    assert (ended.code, ended.out[:38]) == (0, "All settings that are known are in ord")
    assert "whether the plugin post does is known only when its code runs" in ended.err
    assert "pegboard plugins build post" in ended.err
    found = here.run("config", "check", "--json").json
    assert (found["problems"], len(found["doubts"])) == ([], 1)
    assert here.run("config", "set", "channels.mine.agent", "main").code == 0


def test_schema_is_one_valid_schema_with_the_plugins_in_it(here):
    fact = {"kind": "provider", "name": "cloud", "config": SETTINGS}
    here.plugin("weather", manifest={"config": SETTINGS, "contributions": [fact]})
    schema = json.loads(here.run("config", "schema").out)
    own = schema["properties"]["plugins"]["properties"]["weather"]
    assert own["properties"]["place"]["$ref"] == "#/$defs/weather.Place"
    assert schema["$defs"]["weather.Place"] == SETTINGS["$defs"]["Place"]
    jsonschema_rs = pytest.importorskip("jsonschema_rs")
    validator = jsonschema_rs.validator_for(schema)
    good = {
        "plugins": {"weather": {"units": "metric", "place": {"city": "x"}}},
        "providers": {"mine": {"type": "cloud", "units": "imperial"}},
    }
    assert validator.is_valid(good)
    assert not validator.is_valid({"plugins": {"weather": {"units": "x"}}})
    assert not validator.is_valid({"providers": {"mine": {"type": "cloud", "units": "x"}}})


def test_a_secret_is_read_from_a_pipe_and_never_shown(here):
    here.plugin("weather", manifest={"secrets": ["weather_key"]})
    env = {"PEGBOARD__SECRETS__BACKEND": "file"}
    assert "not set" in here.run("secret", "list", env=env).out
    ended = here.run("secret", "set", "weather_key", stdin="hush\n", env=env)
    assert (ended.code, ended.out) == (0, "weather_key is kept in the file.\n"), ended.err
    file = here.home / "config" / "secrets.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (row,) = here.run("secret", "list", "--json", env=env).json["secrets"]
    assert row == {"name": "weather_key", "where": "file", "plugins": ["weather"]}
    assert "hush" not in here.run("secret", "list", env=env).out
    assert here.run("secret", "rm", "weather_key", env=env).code == 0
    assert here.run("secret", "rm", "weather_key", env=env).code == 2


def test_a_secret_is_asked_for_in_a_terminal_and_not_shown_while_it_is_typed(here):
    env = {"PEGBOARD__SECRETS__BACKEND": "file"}
    ended = here.in_terminal("secret", "set", "weather_key", typed="hush\n", after=": ", env=env)
    assert ended.code == 0, ended.out
    assert "Value of weather_key" in ended.out
    assert "hush" not in ended.out
    assert "hush" in (here.home / "config" / "secrets.json").read_text()


def test_a_secret_that_nobody_declares_is_kept_with_a_warning(here):
    here.plugin("weather", manifest={"secrets": ["weather_key"]})
    env = {"PEGBOARD__SECRETS__BACKEND": "file"}
    ended = here.run("secret", "set", "wether_key", stdin="x", env=env)
    assert ended.code == 0
    assert "did you mean weather_key?" in ended.err


def test_an_empty_secret_is_refused(here):
    assert here.run("secret", "set", "key", stdin="\n").code == 2


def test_init_makes_private_folders_and_a_commented_file_once(here):
    ended = here.run("init")
    assert ended.code == 0, ended.err
    for name in ("config", "state", "data", "cache"):
        assert stat.S_IMODE((here.home / name).stat().st_mode) == 0o700
    assert stat.S_IMODE(here.config.stat().st_mode) == 0o600
    text = here.config.read_text()
    assert tomllib.loads(text) == {}
    here.config.write_text(text + "[agent]\nmax_steps = 5\n")
    again = here.run("init")
    assert again.code == 0 and "already" in again.out
    assert here.config.read_text().endswith("max_steps = 5\n")


def test_every_line_that_init_comments_out_is_a_valid_setting(here):
    here.run("init")
    lines = here.config.read_text().splitlines()
    active = [line[2:] for line in lines if line.startswith("# ") and line[2:3] not in ("", " ")]
    text = "\n".join(line for line in active if line[0] == "[" or " = " in line)
    text = text.replace("effort = ...", 'effort = "low"')  # these two have no default
    settings = tomllib.loads(text.replace("allowed = ...", 'allowed = ["x"]'))
    assert check(settings, CORE_SCHEMA) == []
    assert settings["agent"]["max_steps"] == 100


def test_settings_of_a_folder_count_once_it_is_trusted(here):
    own = here.work / ".pegboard"
    own.mkdir()
    (own / "config.toml").write_text("[agent]\nmax_steps = 3\n")
    assert here.run("config", "get", "agent.max_steps").out == "100\n"
    assert "is trusted" in here.run("trust").out
    assert here.run("config", "get", "agent.max_steps").out == "3\n"
    assert here.run("trust", "--no").code == 0
    assert here.run("config", "get", "agent.max_steps").out == "100\n"
    assert here.run("trust", "--list", "--json").json["folders"] == {
        str(here.work.resolve()): False
    }
    assert here.run("trust", "--forget").code == 0
    assert here.run("trust", "--forget").code == 2


def test_a_refused_value_names_the_command_that_was_used(here):
    ended = here.run("config", "set", "agent.max_steps", "abc")
    assert ended.code == 3
    assert "command line" not in ended.err
    assert "pegboard config set agent.max_steps VALUE" in ended.err


def test_a_refused_setting_of_a_plugin_names_it_too(here):
    schema = {
        "type": "object",
        "properties": {"most": {"type": "integer"}},
        "additionalProperties": False,
    }
    here.plugin("weather", manifest={"config": schema})
    ended = here.run("config", "set", "plugins.weather.mots", "3")
    assert (ended.code, "did you mean 'most'" in ended.err) == (3, True), ended.err
    assert "leave out the option" not in ended.err
    ended = here.run("config", "set", "plugins.weather.most", "abc")
    assert "pegboard config set plugins.weather.most VALUE" in ended.err


NAMES = {
    "sandbox.use": ("docker", "brought by pegboard-sandbox-docker", "pip install pegboard-"),
    "store.backend": ("nowhere", "there is no backend 'nowhere'; there are: embedded", "VALUE"),
    "agent.provider": ("oracle", "there is no provider 'oracle'", "VALUE"),
    "tools.excluded": ('["forecast", "sun"]', "brings a tool 'sun'", "pegboard tools list"),
    "agents.sub.tools": ('["wind"]', "another name of the tool forecast", "write forecast"),
    "names.sky": ("weather:sky", "brings a tool 'weather:sky'", "pegboard tools list"),
}


def test_what_a_setting_names_has_to_exist(here):
    spec = {"name": "forecast", "description": "Tell.", "effects": ["read"], "aliases": ["wind"]}
    manifest = {"tools": [spec], "families": [{"prefix": "cloud_", "effects": ["read"]}]}
    here.plugin("weather", manifest=manifest)
    for key, (value, why, fix) in list(NAMES.items())[:2]:
        ended = here.run("config", "set", key, value)
        assert (ended.code, why in ended.err, fix in ended.err) == (3, True, True), ended.err
    assert not here.config.exists()
    here.write_config(
        '[sandbox]\nuse = "docker"\n[store]\nbackend = "nowhere"\n[agent]\nprovider = "oracle"\n'
        '[tools]\nexcluded = ["forecast", "wind", "weather:cloud_x", "sun"]\n'
        '[agents.sub]\ntools = ["wind", "cloud_x", "tool_search"]\n'
        '[names]\nsky = "weather:sky"\n'
    )
    found = {item["path"]: item for item in here.run("config", "check", "--json").json["problems"]}
    assert found.keys() == NAMES.keys()
    assert all(why in found[key]["message"] for key, (_, why, _) in NAMES.items())
    assert found["sandbox.use"]["fix"] == "pip install pegboard-sandbox-docker"
