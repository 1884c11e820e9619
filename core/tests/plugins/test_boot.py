"""What boot returns beside the states, and what it costs."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest

from pegboard.contracts.errors import ConfigError, PluginError
from pegboard.plugins.decision.kinds import KINDS, configured
from pegboard.plugins.discovery.manifest import Manifest


def test_a_plugin_is_ready_and_nothing_of_it_is_imported(machine):
    machine.site.add("web", summary="Reads pages")
    record = machine.only(machine.boot())
    assert (record.state, record.usable, record.reason, record.fix) == ("ready", True, "", None)
    assert (record.dist, record.version, record.first_party) == ("pegboard-web", "0.1.0", True)
    assert "pegboard_web" not in sys.modules


def test_an_import_hook_that_breaks_down_fails_only_what_it_was_asked_for(machine, monkeypatch):
    class Hook:
        def find_spec(self, name, path=None, target=None):
            if name == "acme_lost":
                raise OSError("the hook is broken")

    machine.site.add("web")
    info = machine.site.add("lost", dist="acme-lost")
    (info.parent / "acme_lost").rename(info.parent / "moved")
    monkeypatch.setattr(sys, "meta_path", [Hook(), *sys.meta_path])
    monkeypatch.syspath_prepend(machine.site.folder)
    booted = machine.boot(path=None)
    record = machine.only(booted, "lost")
    assert (record.state, booted.record("web").state) == ("failed", "ready")
    assert "acme-lost: looking for the module of acme_lost.plugin:plugin" in record.reason
    assert "the hook is broken" in record.reason


def test_no_plugin_at_all_is_a_boot_too(machine):
    booted = machine.boot()
    assert booted.records == booted.usable == ()
    assert booted.problems == ()


def test_the_same_environment_boots_the_same(machine):
    for name in ("web", "files", "git", "shell"):
        machine.site.add(name, after=["web"] if name == "git" else [])
    first, second = machine.boot(), machine.boot()
    assert first.records == second.records
    assert [record.id for record in first.records] == ["files", "shell", "web", "git"]


def test_without_a_manifest_it_is_unmanifested_and_can_be_used(machine):
    machine.site.add("web", unmanifested=True)
    record = machine.only(machine.boot())
    assert (record.state, record.usable) == ("unmanifested", True)
    assert record.fix == "pegboard plugins build web"


def test_a_manifest_that_was_built_in_memory_is_judged_like_one_from_a_file(machine):
    machine.site.add("web", unmanifested=True)
    machine.site.add("git", needs={"plugins": ["web"], "services": ["cache"]})
    booted = machine.boot()
    assert machine.only(booted, "git").state == "missing-need"
    adopted = booted.adopt({"web": Manifest("web", services=("cache",))})
    assert machine.only(adopted, "git").state == "ready"
    assert {"pegboard_git", "pegboard_web"} <= adopted.installed == booted.installed
    assert machine.only(adopted).state == "unmanifested"
    assert machine.only(adopted).manifest == Manifest("web", services=("cache",))
    worse = booted.adopt({"web": Manifest("web", api=">=2")})
    assert machine.only(worse).state == "incompatible"


def test_code_that_can_not_be_built_into_a_manifest_has_failed(machine):
    machine.site.add("web", unmanifested=True)
    fault = PluginError("the import raised", fix="pegboard plugins disable web", phase="import")
    record = machine.only(machine.boot().adopt({"web": fault}))
    assert (record.state, record.fix) == ("failed", "pegboard plugins disable web")
    assert "the import raised" in record.reason
    assert record.details["phase"] == "import"


def test_settings_of_a_plugin_that_is_not_installed_say_what_to_install(machine):
    machine.site.add("weather", dist="acme-weather")
    booted = machine.boot("[plugins.git]\nx = 1\n[plugins.wether]\nx = 1")
    git, wether = booted.problems
    assert git.fix == "pip install pegboard-git"
    assert "did you mean 'weather'?" in wether.message
    assert wether.fix == "pegboard config unset plugins.wether"


def test_a_disabled_plugin_that_is_not_installed_is_mentioned(machine):
    (problem,) = machine.boot('[plugins]\ndisabled = ["nothing"]').problems
    assert problem.fix == "pegboard plugins enable nothing"


def test_a_required_plugin_is_loud_and_can_abort(machine):
    machine.site.add("web")
    disabled = '[plugins]\nrequired = ["web"]\ndisabled = ["web"]\n'
    (problem,) = machine.boot(disabled).problems
    assert "the required plugin web is disabled" in problem.message
    assert problem.fix == "pegboard plugins enable web"
    with pytest.raises(PluginError) as caught:
        machine.boot(disabled + 'on_failure = "abort"')
    assert (caught.value.exit_code, caught.value.fix) == (4, "pegboard plugins enable web")
    assert machine.boot(disabled + 'on_failure = "abort"', enforce_required=False).records


def test_a_required_plugin_that_is_not_installed_aborts_with_its_package(machine):
    text = '[plugins]\nrequired = ["git"]\non_failure = "abort"'
    with pytest.raises(PluginError) as caught:
        machine.boot(text)
    assert caught.value.fix == "pip install pegboard-git"


def test_a_misspelt_required_plugin_is_corrected_by_the_fix(machine):
    machine.site.add("weather", dist="acme-weather")
    (problem,) = machine.boot('[plugins]\nrequired = ["wether"]').problems
    assert problem.fix == "pegboard config set plugins.required '[\"weather\"]'"


def test_an_id_that_is_not_installed_is_an_error_that_knows_better(machine):
    machine.site.add("weather", dist="acme-weather")
    booted = machine.boot()
    assert booted.get("wether") is None
    with pytest.raises(PluginError, match="did you mean 'weather'"):
        booted.record("wether")
    with pytest.raises(PluginError) as caught:
        booted.record("git")
    assert caught.value.fix == "pip install pegboard-git"


def test_contributions_of_one_kind_come_in_the_order_of_the_plugins(machine):
    for name, after in (("a", ["b"]), ("b", []), ("c", [])):
        machine.site.add(
            name,
            after=after,
            contributions=[{"kind": "command", "name": f"{name}-run"}, {"kind": "x", "name": "y"}],
        )
    booted = machine.boot('[plugins]\ndisabled = ["c"]')
    assert [(record.id, fact.name) for record, fact in booted.contributions("command")] == [
        ("b", "b-run"),
        ("a", "a-run"),
    ]


def test_times_are_told_when_asked_for(machine):
    machine.site.add("web")
    timings: dict[str, float] = {}
    machine.boot(timings=timings)
    assert set(timings) == {"scan", "manifests", "decide", "manifest:web"}


def test_a_config_that_is_not_toml_is_said_before_anything_else(machine):
    with pytest.raises(ConfigError):
        machine.boot("[plugins")


HEAVY = {
    *("anyio", "asyncio", "concurrent.futures", "copier", "dataclasses", "difflib", "email"),
    *("graphlib", "httpx", "importlib.metadata", "importlib_metadata", "jsonschema_rs", "keyring"),
    *("logging", "pathlib", "pegboard.contracts.tool", "pluggy", "pydantic", "rich", "shutil"),
    *("tomlkit", "tomllib", "urllib.parse", "zipfile"),
}


def test_boot_imports_no_plugin_and_nothing_heavy(machine):
    for name in ("web", "files"):
        machine.site.add(
            name,
            config={"type": "object", "properties": {"a": {"default": 1}}},
            needs={"binaries": ["sh"], "secrets": ["s"]},
        )
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "from pegboard.config.load import load\n"
        "from pegboard.config.paths import find_paths\n"
        "from pegboard.plugins.decision.boot import boot\n"
        "booted = boot(load(find_paths()), path=sys.argv[1:])\n"
        "assert len(booted.records) == 2\n"
        "print('\\n'.join(set(sys.modules) - before))\n"
    )
    env = {**os.environ, "PEGBOARD_HOME": str(machine.site.folder / "home"), "S": "x"}
    done = subprocess.run(
        [sys.executable, "-c", code, *machine.site.path],
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    loaded = done.stdout.split()
    assert "pegboard.plugins.decision.boot" in loaded
    assert HEAVY.isdisjoint(loaded), HEAVY.intersection(loaded)
    assert not any(name.startswith(("pegboard_web", "pegboard_files")) for name in loaded)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_in_the_files_of_one_plugin_the_others_are_ready(machine, seed):
    chance = random.Random(seed)
    machine.site.add("files")
    info = machine.site.add("web", config={"type": "object", "properties": {"a": {}}})
    manifest = machine.site.folder / "pegboard_web" / "plugin.json"
    for file in (info / "METADATA", info / "entry_points.txt", manifest):
        data = bytearray(file.read_bytes())
        for _ in range(chance.choice([0, 1, 3, 20])):
            at = chance.randrange(len(data) + 1)
            junk = bytes(chance.choices(b'{}[]"\\:,=\n\x00\xff\xc3 azAZ019.-_<>~!;', k=3))
            data[at : at + chance.randint(0, 9)] = junk[: chance.randint(0, 3)]
        file.write_bytes(bytes(data))
    booted = machine.boot("[plugins.web]\na = 1")
    assert booted.record("files").state == "ready"
    for record in booted.records:
        assert record.usable or (record.reason and record.fix)


JUNK_SETTINGS = [
    "plugins = 5",
    "[[plugins]]\na = 1",
    "[plugins]\ndisabled = 5\nrequired = [1]\non_failure = []\nweb = 5",
    "[plugins]\ndisabled = {a = 1}\n[plugins.web.deep.er]\na = 1979-05-27T07:32:00Z",
    "[names]\na = 5\n[providers]\na = 1\n[sandbox]\ngrants = 7",
]


@pytest.mark.parametrize("text", JUNK_SETTINGS)
def test_whatever_is_in_the_settings_boot_returns_and_says_so(machine, text):
    machine.site.add("web", contributions=[{"kind": "provider", "name": "x"}])
    booted = machine.boot(text)
    assert booted.problems or not booted.record("web").usable
    for kind in KINDS:
        configured(booted, kind)
