from __future__ import annotations

from pegboard.plugins.decision.kinds import KINDS, configured


def provider(name="openai", **facts):
    return {"kind": "provider", "name": name, **facts}


def test_a_type_that_needs_nothing_has_an_instance_of_its_own_name(machine):
    machine.site.add("provider-openai", contributions=[provider()])
    found = configured(machine.boot(), "provider")
    assert [(item.name, item.type, item.plugin) for item in found.instances] == [
        ("openai", "openai", "provider-openai")
    ]
    assert found.problems == ()


def test_config_makes_several_instances_of_one_type(machine):
    schema = {"type": "object", "properties": {"url": {"type": "string", "default": "u"}}}
    machine.site.add("provider-openai", contributions=[provider(config=schema)])
    text = '[providers.groq]\ntype = "openai"\nurl = "g"\n[providers.local]\ntype = "openai"'
    found = configured(machine.boot(text), "provider")
    assert {item.name: item.settings["url"] for item in found.instances} == {
        "groq": "g",
        "local": "u",
    }


def test_a_type_of_a_disabled_plugin_says_how_to_enable_it(machine):
    machine.site.add("provider-openai", contributions=[provider()])
    text = '[plugins]\ndisabled = ["provider-openai"]\n[providers.groq]\ntype = "openai"'
    found = configured(machine.boot(text), "provider")
    assert found.instances == ()
    (problem,) = found.problems
    assert "brought by the plugin provider-openai, which is disabled" in problem.message
    assert problem.fix == "pegboard plugins enable provider-openai"


def test_a_type_of_a_package_that_is_not_installed_says_what_to_install(machine):
    (problem,) = configured(machine.boot('[providers.groq]\ntype = "openai"'), "provider").problems
    assert problem.path == "providers.groq.type"
    assert problem.fix == "pip install pegboard-provider-openai"


def test_a_type_that_nobody_knows_is_corrected(machine):
    machine.site.add("acme", dist="acme", contributions=[provider("acme-llm")])
    (problem,) = configured(machine.boot('[providers.mine]\ntype = "acme_lm"'), "provider").problems
    assert "did you mean 'acme-llm'?" in problem.message
    assert problem.fix == "pegboard config set providers.mine.type acme-llm"


def test_every_kind_with_instances_has_a_section_in_the_schema_of_core():
    from pegboard.config.schema import CORE_SCHEMA

    sections = {kind.section for kind in KINDS.values() if kind.section}
    assert sections <= set(CORE_SCHEMA["properties"])
