"""The states that a plugin can be in by itself, each with reason and fix."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pegboard.config.load import load
from pegboard.contracts.errors import UsageError
from pegboard.plugins.decision.boot import boot
from pegboard.plugins.decision.failures import FailureStore
from pegboard.plugins.decision.situation import Block, read_blocked


def test_what_config_disables_is_disabled(machine):
    machine.site.add("web")
    record = machine.only(machine.boot('[plugins]\ndisabled = ["web"]'))
    assert (record.state, record.fix) == ("disabled", "pegboard plugins enable web")
    assert str(machine.paths.config_file) in record.reason
    assert record.manifest is not None


def test_what_the_environment_asks_for_is_all_that_is_loaded(machine):
    for name in ("web", "git", "files"):
        machine.site.add(name)
    booted = machine.boot(env={"PEGBOARD_PLUGINS": " git , web,"})
    assert [record.id for record in booted.usable] == ["git", "web"]
    record = machine.only(booted, "files")
    assert (record.state, record.fix) == ("disabled", "unset PEGBOARD_PLUGINS")
    assert record.reason == "PEGBOARD_PLUGINS asks for these plugins only: git, web"


def test_an_empty_variable_asks_for_nothing_in_particular(machine):
    machine.site.add("web")
    assert machine.boot(env={"PEGBOARD_PLUGINS": " "}).only is None


def test_a_caller_can_ask_for_no_plugin_at_all(machine):
    machine.site.add("web")
    booted = machine.boot(only=[], env={"PEGBOARD_PLUGINS": "web"})
    assert booted.usable == ()
    assert machine.only(booted).reason == "this run asks for these plugins only: none"


def test_asking_for_a_plugin_that_is_not_there_is_an_error_with_a_suggestion(machine):
    machine.site.add("weather", dist="acme-weather")
    with pytest.raises(UsageError, match="did you mean 'weather'") as caught:
        machine.boot(env={"PEGBOARD_PLUGINS": "wether"})
    assert caught.value.fix == "export PEGBOARD_PLUGINS=weather"
    with pytest.raises(UsageError) as caught:
        machine.boot(env={"PEGBOARD_PLUGINS": "weather,git"})
    assert caught.value.fix == "pip install pegboard-git"


def test_safe_mode_loads_what_pegboard_ships_and_nothing_else(machine):
    machine.site.add("files")
    machine.site.add("weather", dist="acme-weather")
    machine.site.add("git", dist="evil-git")
    booted = machine.boot(safe=True)
    assert [record.id for record in booted.usable] == ["files"]
    assert {machine.only(booted, name).state for name in ("weather", "git")} == {"untrusted"}
    assert machine.only(booted, "git").fix == "run again without --safe"
    assert not booted.record("git").first_party


def test_a_blocked_version_says_why_and_which_one_is_good(machine):
    blocks = (Block("Pegboard_Web", "1.3", "deletes files", "https://example.org/1"),)
    machine.site.add("web", version="1.2")
    record = machine.only(machine.boot('[plugins]\ndisabled = ["web"]', blocked=blocks))
    assert (record.state, record.fix) == ("blocked", "pip install 'pegboard-web>=1.3'")
    assert record.reason == ("pegboard-web 1.2 is blocked: deletes files (https://example.org/1)")


@pytest.mark.parametrize(
    ("version", "state"), [("1.3", "ready"), ("1.10", "ready"), ("x", "blocked")]
)
def test_only_lower_versions_are_blocked(machine, version, state):
    machine.site.add("web", version=version)
    booted = machine.boot(blocked=[Block("pegboard-web", "1.3", "deletes files")])
    assert machine.only(booted).state == state


def test_where_no_version_is_good_the_fix_is_to_uninstall(machine):
    machine.site.add("web")
    booted = machine.boot(blocked=[Block("pegboard-web", "", "steals")])
    assert machine.only(booted).fix == "pip uninstall pegboard-web"


def test_the_list_that_is_shipped_can_be_read():
    assert isinstance(read_blocked(), tuple)


def test_a_failure_of_this_version_is_shown_without_importing(machine):
    machine.site.add("web", requires=["httpx"])
    trace = "Traceback\n  File x\nModuleNotFoundError: No module named 'httpx'\n"
    FailureStore(machine.paths).record("web", "pegboard-web", "0.1.0", "import", trace)
    record = machine.only(machine.boot())
    assert record.state == "failed"
    assert record.reason.endswith("import failed: ModuleNotFoundError: No module named 'httpx'")
    assert record.fix == "pip install pegboard-web"
    assert record.details["traceback"] == trace


@pytest.mark.parametrize(
    ("last", "requires", "fix"),
    [
        ("No module named 'yaml'", ["httpx"], "pip install yaml"),
        ("No module named 'my_lib.sub'", ["httpx"], "pip install my-lib"),
        ("No module named 'my_lib.sub'", ["My-Lib>=2"], "pip install pegboard-web"),
        ("No module named 'anything'", [], "pip install pegboard-web"),
        (
            "No module named 'pegboard_web.plugin'",
            ["httpx"],
            "pip install --force-reinstall --no-deps pegboard-web",
        ),
    ],
)
def test_a_missing_module_says_what_to_install(machine, last, requires, fix):
    machine.site.add("web", requires=requires)
    trace = f"Traceback\nModuleNotFoundError: {last}"
    FailureStore(machine.paths).record("web", "pegboard-web", "0.1.0", "import", trace)
    assert machine.only(machine.boot()).fix == fix


def test_any_other_failure_is_mended_by_an_upgrade(machine):
    machine.site.add("web")
    FailureStore(machine.paths).record("web", "pegboard-web", "0.1.0", "lifespan", "ValueError: x")
    assert machine.only(machine.boot()).fix == "pip install --upgrade pegboard-web"


def test_a_host_gives_a_failed_plugin_another_try(machine):
    machine.site.add("web")
    FailureStore(machine.paths).record("web", "pegboard-web", "0.1.0", "import", "x")
    assert machine.only(machine.boot(retry_failed=True)).state == "ready"


def test_another_version_is_given_another_try(machine):
    machine.site.add("web", version="0.1.1")
    FailureStore(machine.paths).record("web", "pegboard-web", "0.1.0", "import", "x")
    assert machine.only(machine.boot()).state == "ready"


def test_a_plugin_that_took_the_process_with_it_is_left_out_until_it_is_enabled(machine):
    machine.site.add("web")
    crash = (
        "import os, sys\n"
        "from pegboard.config.paths import Paths\n"
        "from pegboard.plugins.decision.failures import FailureStore\n"
        "with FailureStore(Paths(*sys.argv[1:])).marked('web', 'pegboard-web', '0.1.0'):\n"
        "    os._exit(139)\n"
    )
    paths = machine.paths
    folders = [str(folder) for folder in (paths.config, paths.state, paths.data, paths.cache)]
    subprocess.run([sys.executable, "-c", crash, *folders], check=False)
    record = machine.only(machine.boot(retry_failed=True))
    assert record.state == "failed"
    assert record.fix == (
        "pip install --upgrade pegboard-web; to try this version again: "
        "`pegboard plugins enable web`"
    )
    assert record.reason == "the whole process died while importing pegboard-web 0.1.0"
    assert FailureStore(machine.paths).forget("web")
    assert machine.only(machine.boot()).state == "ready"


def test_broken_metadata_fails_the_plugin_and_nobody_else(machine):
    info = machine.site.add("web")
    machine.site.add("git")
    (info / "METADATA").unlink()
    booted = machine.boot()
    record = machine.only(booted)
    assert (record.state, booted.record("git").state) == ("failed", "ready")
    assert record.reason == "pegboard-web: its METADATA is missing or empty"
    assert record.fix == "pip install --force-reinstall --no-deps pegboard-web"


def test_garbage_in_entry_points_fails_the_plugin(machine):
    machine.site.add("web", entry_points="[pegboard.plugins]\nweb pegboard_web\n")
    assert machine.only(machine.boot()).reason.startswith(
        "pegboard-web: line 2 of its entry_points.txt"
    )


@pytest.mark.parametrize("plugin_id", ["Web", "we_b", "we--b", "-web", "web-", "9web", "wéb"])
def test_an_id_that_can_not_be_one_is_refused(machine, plugin_id):
    machine.site.add("x", entry_points=f"[pegboard.plugins]\n{plugin_id} = pegboard_x.plugin:p\n")
    (record,) = machine.boot().records
    assert record.state == "failed"
    assert "can't be the id of a plugin" in record.reason
    assert record.fix == "pip uninstall pegboard-x"


@pytest.mark.parametrize("plugin_id", ["disabled", "required", "core"])
def test_an_id_that_means_something_else_is_refused(machine, plugin_id):
    machine.site.add("x", entry_points=f"[pegboard.plugins]\n{plugin_id} = pegboard_x.plugin:p\n")
    (record,) = machine.boot().records
    assert "is reserved" in record.reason


@pytest.mark.parametrize("value", ["pegboard_web:", "a-b:c", ".x:y", "a..b:c", "a:b:c", "a.b-c"])
def test_an_entry_point_that_names_no_object_is_refused(machine, value):
    machine.site.add("web", entry_points=f"[pegboard.plugins]\nweb = {value}\n")
    record = machine.only(machine.boot())
    assert record.state == "failed"
    assert "is neither `module:object` nor `module`" in record.reason


def test_a_module_may_be_the_plugin_itself(machine):
    machine.site.add("web", entry_points="[pegboard.plugins]\nweb = pegboard_web\n")
    record = machine.only(machine.boot())
    assert record.state in ("ready", "unmanifested")


def test_a_module_that_is_gone_is_named(machine):
    machine.site.add("web", entry_points="[pegboard.plugins]\nweb = gone_module.plugin:plugin\n")
    record = machine.only(machine.boot())
    assert (record.state, record.fix) == (
        "failed",
        "pip install --force-reinstall --no-deps pegboard-web",
    )
    assert record.reason == "pegboard-web: its module 'gone_module' can't be found"


@pytest.mark.parametrize("content", ["{", b"\xff", "[]", '{"manifest": 1}'])
def test_a_broken_manifest_fails_the_plugin_and_names_the_file(machine, content):
    machine.site.add("web", manifest=content)
    record = machine.only(machine.boot())
    assert record.state == "failed"
    assert "plugin.json" in record.reason
    assert record.fix == "pip install --force-reinstall --no-deps pegboard-web"


def test_a_hook_that_does_not_exist_fails_the_plugin_with_a_suggestion(machine):
    machine.site.add("web", hooks={"pegboard_tool_gaurd": []})
    record = machine.only(machine.boot())
    assert record.state == "failed"
    assert "did you mean 'pegboard_tool_guard'?" in record.reason


def test_a_schema_that_can_not_be_used_fails_the_plugin(machine):
    machine.site.add("web", config={"properties": {"a": {"$ref": "#/$defs/gone"}}})
    record = machine.only(machine.boot("[plugins.web]\na = 5"))
    assert record.state == "failed"
    assert "the schema of its settings is broken" in record.reason


@pytest.mark.parametrize(
    ("api", "fix"),
    [
        (">=2,<3", "pip install --upgrade pegboard"),
        (">=1.7", "pip install --upgrade pegboard"),
        ("<1", "pip install --upgrade pegboard-web"),
        ("nonsense", "pip install --upgrade pegboard-web"),
    ],
)
def test_another_hook_api_is_incompatible_and_says_which_side_is_too_old(machine, api, fix):
    machine.site.add("web", api=api)
    record = machine.only(machine.boot())
    assert (record.state, record.fix) == ("incompatible", fix)
    assert "hook API" in record.reason


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("pegboard>=99", "pip install --upgrade pegboard"),
        ("Pegboard (<0.0.1)", "pip install --upgrade pegboard-web"),
        ("pegboard[new]~=98.1", "pip install --upgrade pegboard"),
        ("pegboard>=99; python_version >= '3'", "pip install --upgrade pegboard"),
        ("pegboard ?", "pip install --upgrade pegboard-web"),
    ],
)
def test_what_pip_would_refuse_is_refused_at_boot_too(machine, line, fix):
    machine.site.add("web", requires=[line])
    record = machine.only(machine.boot())
    assert (record.state, record.fix) == ("incompatible", fix)
    assert "Pegboard" in record.reason


@pytest.mark.parametrize(
    "line",
    [
        "pegboard",
        "pegboard>=0.0.1",
        "pegboard>=99; extra == 'future'",
        "pegboard>=99; python_version < '3'",
        "pegboard>=99; sys_platform == 'plan9'",
        "pegboard-files>=99",
    ],
)
def test_requirements_that_do_not_apply_are_passed_over(machine, line):
    machine.site.add("web", requires=[line])
    assert machine.only(machine.boot()).state == "ready"


def test_a_manifest_of_a_later_version_is_incompatible(machine):
    machine.site.add("web", manifest='{"manifest": 7, "shape": "new"}')
    record = machine.only(machine.boot())
    assert (record.state, record.fix) == ("incompatible", "pip install --upgrade pegboard")


def test_a_later_api_is_said_before_the_hooks_that_come_with_it(machine):
    machine.site.add("web", api=">=1.9", hooks={"pegboard_new_hook": []})
    assert machine.only(machine.boot()).state == "incompatible"


def test_a_missing_program_is_named(machine):
    machine.site.add("web", needs={"binaries": ["sh", "no-such-program"]})
    record = machine.only(machine.boot())
    assert record.state == "missing-need"
    assert "'no-such-program'" in record.reason
    assert "no-such-program" in record.fix


def test_a_program_must_be_executable(machine, tmp_path):
    program = tmp_path / "bin" / "tool"
    program.parent.mkdir()
    program.write_text("")
    machine.site.add("web", needs={"binaries": ["tool"]})
    env = {"PATH": str(program.parent)}
    assert machine.only(machine.boot(env=env)).state == "missing-need"
    program.chmod(0o700)
    assert machine.only(machine.boot(env=env)).state == "ready"


def test_a_missing_secret_is_named_with_the_command_that_sets_it(machine):
    machine.site.add("web", needs={"secrets": ["web_key"]})
    record = machine.only(machine.boot())
    assert (record.state, record.fix) == ("missing-need", "pegboard secret set web_key")
    assert machine.only(machine.boot(env={"WEB_KEY": "x"})).state == "ready"


def test_a_broken_file_of_secrets_does_not_stop_boot(machine):
    machine.site.add("web", needs={"secrets": ["web_key"]})
    machine.site.add("git")
    machine.config()
    machine.paths.secrets_file.write_text("{")
    booted = machine.boot()
    assert booted.record("git").state == "ready"
    assert "secrets.json can't be read" in machine.only(booted).reason


SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "limit": {"type": "integer", "minimum": 1, "default": 10},
        "region": {"type": "string", "description": "Where to look."},
    },
}


def test_settings_are_checked_before_anything_is_imported(machine):
    machine.site.add("web", config=SCHEMA)
    assert machine.only(machine.boot("[plugins.web]\nlimit = 5")).state == "ready"
    record = machine.only(machine.boot('[plugins.web]\nlimit = "many"\nregio = 1'))
    assert record.state == "misconfigured"
    assert "plugins.web.limit must be a whole number, not 'many'" in record.reason
    assert str(machine.paths.config_file) in record.reason
    assert record.fix == "pegboard config set plugins.web.limit 10"
    assert len(record.details["problems"]) == 2


def test_a_misspelt_setting_is_named_with_the_right_one(machine):
    machine.site.add("web", config=SCHEMA)
    record = machine.only(machine.boot("[plugins.web]\nregoin = 1"))
    assert "did you mean 'region'?" in record.reason
    assert record.fix == "pegboard config unset plugins.web.regoin"


def test_a_required_setting_that_is_missing_says_what_it_is(machine):
    machine.site.add("web", config={**SCHEMA, "required": ["region"]})
    record = machine.only(machine.boot())
    assert record.reason == "plugins.web.region is missing: Where to look."
    assert record.fix == "pegboard config set plugins.web.region VALUE"


def test_settings_of_a_plugin_that_takes_none_are_refused(machine):
    machine.site.add("web")
    record = machine.only(machine.boot("[plugins.web]\nlimit = 5"))
    assert record.state == "misconfigured"
    assert "unknown key plugins.web.limit" in record.reason


def test_a_wrong_setting_from_the_environment_is_unset_there(machine):
    machine.site.add("web", config=SCHEMA)
    config = load(machine.paths, env={"PEGBOARD__PLUGINS__WEB__LIMIT": "many"})
    record = machine.only(boot(config, path=machine.site.path, env={}))
    assert record.fix == "unset PEGBOARD__PLUGINS__WEB__LIMIT"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"name": "mcp_manage"}, "mcp_manage is never delegated"),
        ({"name": "free", "aliases": ["secret_set"]}, "secret_set is never delegated"),
        ({"name": "free", "control": "tokens"}, "a tool of the control plane (tokens)"),
        ({"name": "free", "capability": "orch:*"}, "must be one of orch:read"),
    ],
)
def test_a_tool_that_would_lend_scripts_what_nobody_lends_fails_its_plugin(machine, facts, words):
    tool = {"parameters": {"type": "object"}, "capability": "orch:read", **facts}
    machine.site.add("loose", dist="acme-loose", tools=[tool])
    record = machine.only(machine.boot(), "loose")
    assert record.state == "failed"
    assert words in record.reason
    assert record.fix


def test_a_tool_that_declares_a_capability_or_an_area_is_as_good_as_any(machine):
    schema = {"type": "object"}
    tools = [
        {"name": "fetch", "parameters": schema, "capability": "orch:web"},
        {"name": "config_set", "parameters": schema, "control": "config"},
    ]
    machine.site.add("web", tools=tools)
    assert machine.only(machine.boot()).usable
