from __future__ import annotations

import pytest

from pegboard.config.load import load, parse_value, read_file
from pegboard.config.schema import CORE_SCHEMA, defaults
from pegboard.contracts.errors import ConfigError, UsageError


def test_without_any_file_the_defaults_count(paths):
    config = load(paths, env={})
    assert config.data == defaults(CORE_SCHEMA)
    assert config.get("agent.max_steps") == 100
    assert config.files == ()
    assert config.problems == ()
    assert config.source("agent.max_steps") == "default"
    config.require_valid()


def test_the_command_line_counts_before_all_and_the_user_file_last(paths, tmp_path):
    paths.config_file.write_text(
        '[agent]\nmax_steps = 1\nmodel = "u"\nprovider = "u"\ninstructions = "u"'
    )
    project = tmp_path / "project" / ".pegboard" / "config.toml"
    project.parent.mkdir(parents=True)
    project.write_text('[agent]\nmax_steps = 2\nmodel = "p"\nprovider = "p"')
    env = {"PEGBOARD__AGENT__MAX_STEPS": "3", "PEGBOARD__AGENT__MODEL": "e", "OTHER": "x"}
    config = load(paths, project=tmp_path / "project", env=env, overrides={"agent.max_steps": 4})
    assert config.section("agent") == {
        "fallbacks": [],
        "failover_mid_run": False,
        "max_steps": 4,
        "model": "e",
        "provider": "p",
        "instructions": "u",
    }
    assert config.source("agent.max_steps") == "command line"
    assert config.source("agent.model") == "PEGBOARD__AGENT__MODEL"
    assert config.source("agent.provider") == str(project)
    assert config.source("agent.instructions") == str(paths.config_file)
    assert config.source("agent") in config.sources.values()
    assert config.files == (paths.config_file, project)


def test_a_project_that_nobody_trusts_is_not_read(paths, tmp_path):
    project = tmp_path / ".pegboard" / "config.toml"
    project.parent.mkdir()
    project.write_text("not toml at all")
    assert load(paths, project=None, env={}).files == ()


def test_tables_are_merged_and_lists_replaced(paths, tmp_path):
    paths.config_file.write_text(
        '[plugins]\ndisabled = ["a", "b"]\n[plugins.web]\nlimit = 1\nregion = "x"'
    )
    project = tmp_path / ".pegboard" / "config.toml"
    project.parent.mkdir()
    project.write_text('[plugins]\ndisabled = ["c"]\n[plugins.web]\nlimit = 2')
    config = load(paths, project=tmp_path, env={})
    assert config.get("plugins.disabled") == ["c"]
    assert config.section("plugins.web") == {"limit": 2, "region": "x"}
    assert config.source("plugins.web.region") == str(paths.config_file)


def test_a_table_that_replaces_a_value_and_the_other_way_round_keep_their_sources(paths, tmp_path):
    paths.config_file.write_text("[plugins.web]\na = {b = 1}\nc = 5")
    project = tmp_path / ".pegboard" / "config.toml"
    project.parent.mkdir()
    project.write_text("[plugins.web]\na = 1\nc = {}")
    config = load(paths, project=tmp_path, env={})
    assert config.section("plugins.web") == {"a": 1, "c": {}}
    assert config.sources == {"plugins.web.a": str(project), "plugins.web.c": str(project)}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("true", True),
        ('["a", "b"]', ["a", "b"]),
        ('"5"', "5"),
        ("gpt-5", "gpt-5"),
        ("", ""),
        ("a = 1", "a = 1"),
        ("5\nx = 1", "5\nx = 1"),
        ("{a = 1}", {"a": 1}),
    ],
)
def test_a_value_of_the_environment_is_toml_or_else_text(text, value):
    assert parse_value(text) == value


def test_names_with_dashes_can_be_set_from_the_environment(paths):
    paths.config_file.write_text('[providers.my-groq]\ntype = "openai"')
    env = {
        "PEGBOARD__PLUGINS__SANDBOX_LOCAL__DEPTH": "3",
        "PEGBOARD__PLUGINS__ON_FAILURE": "abort",
        "PEGBOARD__PROVIDERS__MY_GROQ__URL": "u",
        "PEGBOARD____": "ignored",
        "PEGBOARD__": "ignored",
    }
    config = load(paths, env=env)
    assert config.get("plugins.sandbox-local.depth") == 3
    assert config.get("plugins.on_failure") == "abort"
    assert config.section("providers.my-groq") == {"type": "openai", "url": "u"}
    assert config.problems == ()


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("[agent\nx = 1", "line 1, column 7", "[agent"),
        ("[agent]\nmax_steps 5\n", "line 2, column 11", "in: max_steps ..."),
        ("[agent]\nmodel = gpt\n", "line 2, column 9", "in: model = ..."),
        ('a = "open', "line 1, column 1", "in: a = ..."),
        ("a = 1\na = 2", "line 2", "in: a = ..."),
        ("x = " + "[" * 5000, "line 1", "in: x = ..."),
        ('keys = [\n  "sk-live",\n  "sk-too" "sk"\n]', "line 3", "in: ..."),
    ],
)
def test_a_file_that_is_not_toml_is_named_with_line_and_column(paths, text, place, what):
    paths.config_file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(paths, env={})
    assert f"{paths.config_file}, {place}" in caught.value.message
    assert what in caught.value.message
    assert "sk-" not in caught.value.message
    assert str(paths.config_file) in str(caught.value.fix)
    assert caught.value.exit_code == 3


def test_a_file_that_is_not_utf8_is_named(paths):
    paths.config_file.write_bytes(b"model = '\xff'")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        load(paths, env={})


def test_a_file_with_a_mark_of_its_byte_order_is_read(paths):
    paths.config_file.write_bytes(b"\xef\xbb\xbf[agent]\nmax_steps = 5\n")
    assert load(paths, env={}).get("agent.max_steps") == 5


def test_a_file_that_is_a_folder_is_named(paths):
    paths.config_file.mkdir()
    with pytest.raises(ConfigError, match="can't be read"):
        load(paths, env={})


def test_a_file_that_is_not_there_is_none(tmp_path):
    assert read_file(tmp_path / "gone.toml") is None


def test_an_unknown_key_is_a_problem_with_a_suggestion_and_a_place(paths):
    paths.config_file.write_text("[agent]\nmax_stpes = 5\n")
    config = load(paths, env={})
    (problem,) = config.problems
    assert problem.path == "agent.max_stpes"
    assert "did you mean 'max_steps'?" in problem.message
    assert str(paths.config_file) in problem.message
    assert problem.fix == "pegboard config unset agent.max_stpes"
    with pytest.raises(ConfigError, match="max_steps") as caught:
        config.require_valid()
    assert caught.value.fix == problem.fix


def test_several_problems_are_counted(paths):
    paths.config_file.write_text("[agent]\nmax_steps = 0\n[agnet]\nx = 1\n")
    with pytest.raises(ConfigError, match="1 more: pegboard config check"):
        load(paths, env={}).require_valid()


def test_the_fix_is_for_the_place_where_the_value_was_set(paths, tmp_path):
    project = tmp_path / ".pegboard" / "config.toml"
    project.parent.mkdir()
    project.write_text("[agent]\nmax_steps = 0")
    (problem,) = load(paths, project=tmp_path, env={}).problems
    assert problem.fix == f"change agent.max_steps in {project}"
    env = {"PEGBOARD__AGENT__MAX_STEPS": "none"}
    (problem,) = load(paths, env=env).problems
    assert problem.fix == "unset PEGBOARD__AGENT__MAX_STEPS"
    (problem,) = load(paths, env={}, overrides={"agent.max_steps": 0}).problems
    assert problem.fix == "leave out the option that sets agent.max_steps"


def test_grants_are_checked_item_by_item(paths):
    paths.config_file.write_text('[sandbox]\ngrants = [{path = "/a"}, {path = "/b", mode = "w"}]')
    (problem,) = load(paths, env={}).problems
    assert problem.path == "sandbox.grants[1].mode"
    assert str(paths.config_file) in problem.message


def test_names_must_look_like_names(paths):
    paths.config_file.write_text('[names]\nsearch = "web"')
    assert load(paths, env={}).problems[0].path == "names.search"


def test_an_override_whose_key_is_none_is_refused(paths):
    with pytest.raises(UsageError):
        load(paths, env={}, overrides={"agent max": 1})


def test_values_below_a_value_are_the_default(paths):
    config = load(paths, env={})
    assert config.get("agent.max_steps.deeper", "nothing") == "nothing"
    assert config.section("agent.max_steps") == {}
    assert config.section("gone.deeper") == {}
