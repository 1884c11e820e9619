"""`pegboard plugins doctor` and `pegboard doctor`."""

from __future__ import annotations

import pytest

from pegboard.testing.dists import built


def _about(ended, about):
    return [item for item in ended.json["checks"] if item["about"] == about]


def test_sound_plugins_are_in_order(here):
    here.plugin("weather")
    ended = here.run("plugins", "doctor")
    assert ended.code == 0, ended.out
    assert "ok" in ended.out and "weather" in ended.out


def test_a_broken_plugin_is_found_with_its_fix(here):
    here.plugin("weather", manifest={"api": ">=9"})
    ended = here.run("plugins", "doctor", "--json")
    assert ended.code == 1
    (finding,) = _about(ended, "weather")
    assert finding["level"] == "broken" and finding["message"].startswith("incompatible: ")
    assert finding["fix"]


def test_a_disabled_plugin_is_no_fault(here):
    here.plugin("weather")
    here.run("plugins", "disable", "weather")
    assert here.run("plugins", "doctor").code == 0


def test_two_owners_of_one_file_are_named(here):
    here.plugin("one", package="shared")
    here.plugin("two", package="shared")
    ended = here.run("plugins", "doctor", "--json")
    assert ended.code == 1
    assert any("both own" in item["message"] for item in ended.json["checks"])


def test_a_manifest_that_was_edited_after_the_install_is_noticed(here):
    dist = here.plugin("weather")
    dist.manifest.write_text(dist.manifest.read_text().replace("Says hello", "Says nothing"))
    ended = here.run("plugins", "doctor", "--json")
    assert any("not the one that was installed" in item["message"] for item in ended.json["checks"])


def test_a_missing_file_is_noticed(here):
    here.plugin("weather").code.unlink()
    ended = here.run("plugins", "doctor", "--json")
    assert ended.code == 1
    assert any("missing" in item["message"] for item in ended.json["checks"])


def test_a_missing_requirement_is_noticed(here):
    here.plugin("weather", requires=("pegboard>=0.1,<1", "no-such-library>=3"))
    ended = here.run("plugins", "doctor", "--json")
    assert ended.code == 1
    assert any("no-such-library" in item["message"] for item in ended.json["checks"])


def test_unknown_keys_and_unknown_ids_are_noticed(here):
    here.plugin("weather", manifest={"from_the_future": 1})
    here.write_config('[plugins]\ndisabled = ["wether"]\n')
    ended = here.run("plugins", "doctor", "--json")
    assert ended.code == 0
    text = ended.out
    assert "from_the_future" in text and "wether" in text


def test_a_required_plugin_that_is_missing_is_broken_and_the_list_still_works(here):
    here.write_config('[plugins]\nrequired = ["web"]\non_failure = "abort"\n')
    assert here.run("plugins", "list").code == 0
    assert here.run("plugins", "doctor").code == 1


def test_doctor_of_an_empty_installation_says_what_to_install(here):
    ended = here.run("doctor", "--json")
    assert ended.code == 1
    assert ended.json["ok"] is False
    (provider,) = _about(ended, "provider")
    assert (provider["level"], provider["fix"]) == ("broken", "pip install pegboard-standard")


def test_a_fallback_that_is_not_there_is_noticed_before_it_is_needed(here):
    code = """
from pegboard import Plugin

plugin = Plugin(summary="Models.")


@plugin.provider("acme")
def acme(context, settings):
    return None
"""
    built(here.plugin("acme", code=code, manifest=None))
    here.write_config(
        '[agent]\nfallbacks = ["acme/a/b", "acmee"]\n[agents.deep]\nfallbacks = ["gone/m"]\n'
    )
    found = _about(here.run("doctor", "--json"), "provider")
    assert [item["message"] for item in found if item["level"] == "warning"] == [
        "agent.fallbacks names 'acmee', but there is only acme.",
        "agents.deep.fallbacks names 'gone', but there is only acme.",
    ]


def test_doctor_goes_on_when_the_settings_are_broken(here):
    here.write_config("[agent\n")
    ended = here.run("doctor", "--json")
    assert ended.code == 1
    (finding,) = _about(ended, "settings")
    assert finding["level"] == "broken" and "line 1" in finding["message"]


@pytest.mark.parametrize(("name", "mode", "level"), [("config", 0o755, "warning")])
def test_open_permissions_are_noticed(here, name, mode, level):
    folder = here.home / name
    folder.mkdir(parents=True)
    folder.chmod(mode)
    (finding,) = _about(here.run("doctor", "--json"), name)
    assert (finding["level"], finding["fix"]) == (level, f"chmod 700 {folder}")


def test_a_readable_secrets_file_is_broken(here):
    here.write_config("")
    file = here.home / "config" / "secrets.json"
    file.write_text("{}")
    file.chmod(0o644)
    (finding,) = _about(here.run("doctor", "--json"), "secrets")
    assert (finding["level"], finding["fix"]) == ("broken", f"chmod 600 {file}")


def test_an_untrusted_folder_is_mentioned_and_trusting_it_settles_that(here):
    (here.work / "AGENTS.md").write_text("Be kind.")
    (finding,) = _about(here.run("doctor", "--json"), "folder")
    assert (finding["level"], finding["fix"]) == ("warning", "pegboard trust")
    assert here.run("trust").code == 0
    assert _about(here.run("doctor", "--json"), "folder")[0]["level"] == "ok"


@pytest.mark.parametrize(
    ("profile", "level", "words"),
    [
        ("standard", "ok", "The agent holds orch:analyze"),
        ("assistant", "ok", "The agent starts nothing by itself"),
        ("unattended", "ok", "A run that is refused 5 times in a row is stopped."),
        ("max", "warning", "max is the same as standard for now"),
    ],
)
def test_the_profile_is_told_with_what_follows_from_it(here, profile, level, words):
    here.working_plugin()
    ended = here.run("--set", f"autonomy.profile={profile}", "doctor", "--json")
    (found,) = _about(ended, "profile")
    assert found["level"] == level
    assert found["message"].startswith(f"{profile}\n")
    assert words in found["message"]
    assert (found["fix"] is not None) is (profile == "max")


def test_a_profile_that_does_not_exist_is_told_once(here):
    here.working_plugin()
    ended = here.run("--set", "autonomy.profile=standart", "doctor", "--json")
    assert not _about(ended, "profile")
    assert any("did you mean 'standard'" in item["message"] for item in ended.json["checks"])
    assert _about(ended, "folder")
