from __future__ import annotations

import pytest

from pegboard.config.instances import ContributedType, instances
from pegboard.config.load import load
from pegboard.config.schema import Problem

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["url"],
    "properties": {"url": {"type": "string"}, "limit": {"type": "integer", "default": 3}},
}
OPENAI = ContributedType("provider-openai", "openai", SCHEMA)
OFFLINE = ContributedType("provider-offline", "offline")


@pytest.fixture
def config(paths):
    def made(text: str = ""):
        paths.config_file.write_text(text)
        return load(paths, env={})

    return made


def test_a_table_makes_an_instance_with_the_defaults_of_its_type(config):
    found = instances("provider", [OPENAI], config('[providers.groq]\ntype = "openai"\nurl = "u"'))
    groq = found.named("groq")
    assert groq is not None
    assert (groq.kind, groq.type, groq.plugin) == ("provider", "openai", "provider-openai")
    assert groq.settings == {"url": "u", "limit": 3}
    assert found.named("openai") is None
    assert found.problems == ()


def test_without_a_type_the_name_of_the_table_is_the_type(config):
    found = instances("provider", [OPENAI], config('[providers.openai]\nurl = "u"'))
    assert [item.name for item in found.instances] == ["openai"]


def test_several_instances_of_one_type_are_sorted_by_name(config):
    text = '[providers.b]\ntype = "offline"\n[providers.a]\ntype = "offline"'
    found = instances("provider", [OFFLINE], config(text))
    assert [item.name for item in found.instances] == ["a", "b"]


def test_a_type_that_needs_a_setting_has_no_default_instance(config):
    found = instances("provider", [OPENAI, OFFLINE], config())
    assert [item.name for item in found.instances] == ["offline"]
    assert found.problems == ()


def test_a_wrong_setting_is_a_problem_of_that_instance_only(config, paths):
    text = '[providers.a]\ntype = "openai"\nurl = 5\n[providers.b]\ntype = "openai"\nurl = "u"'
    found = instances("provider", [OPENAI], config(text))
    assert [item.name for item in found.instances] == ["b"]
    (problem,) = found.problems
    assert problem.message == (
        f"providers.a.url must be a string, not 5 (set in {paths.config_file})"
    )


def test_a_setting_of_a_type_that_takes_none_is_a_problem(config):
    found = instances("provider", [OFFLINE], config('[providers.x]\ntype = "offline"\na = 1'))
    assert found.named("x") is None
    assert found.problems[0].fix == "pegboard config unset providers.x.a"


@pytest.mark.parametrize(
    ("wanted", "fix"),
    [
        ("opnai", "pegboard config set providers.x.type openai"),
        ("zzz", "pegboard config unset providers.x"),
    ],
)
def test_an_unknown_type_is_a_problem_with_the_nearest_one(config, wanted, fix):
    found = instances("provider", [OPENAI], config(f'[providers.x]\ntype = "{wanted}"'))
    assert found.problems[0].fix == fix
    assert "there is no type" in found.problems[0].message


def test_no_type_at_all_is_said(config):
    found = instances("provider", [], config("[providers.x]\n"))
    assert "no plugin brings any" in found.problems[0].message


def test_a_type_that_is_no_text_is_a_problem(config):
    assert instances("provider", [OFFLINE], config("[providers.x]\ntype = 5")).problems


def test_a_type_that_can_not_be_used_now_says_why(config):
    absent = {"openai": Problem("", "the plugin is disabled", "pegboard plugins enable x")}
    found = instances("provider", [], config('[providers.x]\ntype = "openai"'), absent=absent)
    assert found.problems[0].message.startswith("the plugin is disabled")
    assert found.problems[0].fix == "pegboard plugins enable x"
    assert found.problems[0].path == "providers.x.type"


def test_two_plugins_with_one_type_are_told_apart_by_config(config):
    other = ContributedType("acme", "offline")
    found = instances("provider", [OFFLINE, other], config('[providers.x]\ntype = "offline"'))
    assert found.instances == ()
    assert "acme and provider-offline both bring a type 'offline'" in found.problems[0].message
    text = '[providers.x]\ntype = "provider-offline:offline"'
    found = instances("provider", [OFFLINE, other], config(text))
    assert [(item.name, item.plugin) for item in found.instances] == [("x", "provider-offline")]


def test_a_broken_schema_of_a_type_is_said_even_if_nobody_configured_it(config):
    broken = ContributedType("acme", "odd", {"properties": {"a": {"$ref": "#/gone"}}})
    found = instances("provider", [broken], config())
    assert found.instances == () or found.problems == ()
    worse = ContributedType("acme", "odd", {"required": 5})
    found = instances("provider", [worse], config())
    assert found.instances == ()
    assert found.problems[0].fix == "pegboard plugins disable acme"


def test_another_section_can_be_named(config):
    found = instances("sandbox", [], config("[sandboxes.x]\n"), section="sandboxes")
    assert found.problems[0].path == "sandboxes.x.type"


def test_what_is_no_table_is_left_to_the_schema_of_core(config):
    made = config("[providers]\nx = 5")
    assert instances("provider", [OFFLINE], made).problems == ()
    assert made.problems[0].path == "providers.x"


def test_settings_that_name_a_secret_give_the_instance_that_secret(config):
    schema = {
        "type": "object",
        "properties": {
            "api_key": {"type": "string", "default": "env:A_KEY", "x-secret-name": True},
            "model": {"type": "string", "default": "env:NO_SECRET"},
        },
    }
    types = [ContributedType("p", "api", schema)]
    usual = instances("provider", types, config())
    assert usual.instances[0].secrets == {"env:A_KEY"}
    own = instances("provider", types, config('[providers.x]\ntype = "api"\napi_key = "mine"'))
    assert own.instances[0].secrets == {"mine"}
    none = instances("provider", types, config('[providers.x]\ntype = "api"\napi_key = ""'))
    assert none.instances[0].secrets == frozenset()


def test_a_type_that_only_code_could_tell_of_is_no_problem_but_a_doubt(config):
    settings = config('[channels.mine]\ntype = "pigeon"')
    found = instances("channel", [], settings, silent=["post", "air"])
    assert (found.problems, found.named("mine")) == ((), None)
    (doubt,) = found.doubts
    assert doubt.path == "channels.mine.type"
    assert "one of the plugins air, post" in doubt.message
    assert doubt.fix == "pegboard plugins build air"
    assert instances("channel", [], settings).doubts == ()
