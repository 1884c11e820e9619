from __future__ import annotations

import dataclasses
import json
import sys
import zipfile
from typing import Any

import pytest

from pegboard.contracts.errors import UsageError
from pegboard.plugins.discovery.changes import diff
from pegboard.plugins.discovery.inspect import Inspection, inspect

TRAP = "raise SystemExit('inspection ran the code')\n"
MANIFEST: dict[str, Any] = {
    "manifest": 1,
    "id": "weather",
    "entry": "acme_weather.plugin:plugin",
    "tools": [
        {"name": "now", "effects": ["net_read"], "parameters": {"type": "object"}},
        {"name": "danger", "effects": None, "parameters": {"type": "object"}},
    ],
    "families": [{"prefix": "station_", "effects": ["read", "exec"]}],
    "hooks": {"pegboard_event": ["tool_called"]},
    "secrets": ["weather_key"],
    "needs": {"binaries": ["curl"]},
    "contributions": [{"kind": "command", "name": "weather"}],
}


OWN = "[pegboard.plugins]\nweather = acme_weather.plugin:plugin\n"


def make_wheel(folder, *, version="1.0", manifest=MANIFEST, extra=None, points="", own=OWN):
    file = folder / f"acme_weather-{version}-py3-none-any.whl"
    info = f"acme_weather-{version}.dist-info"
    head = (
        f"Metadata-Version: 2.3\nName: acme-weather\nVersion: {version}\nRequires-Dist: httpx\n\n"
    )
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("acme_weather/__init__.py", TRAP)
        archive.writestr("acme_weather/plugin.py", TRAP)
        if manifest is not None:
            text = manifest if isinstance(manifest, str) else json.dumps(manifest)
            archive.writestr("acme_weather/plugin.json", text)
        archive.writestr(f"{info}/METADATA", head)
        archive.writestr(f"{info}/entry_points.txt", own + points)
        for name, content in (extra or {}).items():
            archive.writestr(name, content)
    return file


def test_a_wheel_is_read_and_never_run(tmp_path):
    found = inspect(str(make_wheel(tmp_path)))
    assert (found.source, found.dist, found.version) == ("wheel", "acme-weather", "1.0")
    assert found.plugins == {"weather": "acme_weather.plugin:plugin"}
    assert found.manifests["weather"].secrets == ("weather_key",)
    assert found.effects == {
        "weather:now": ("net_read",),
        "weather:danger": None,
        "weather:station_*": ("exec", "read"),
    }
    assert found.requires == ("httpx",)
    assert found.packages == ("acme_weather",)
    assert found.problems == ()
    assert "acme_weather" not in sys.modules


def test_what_runs_outside_of_pegboard_is_shown(tmp_path):
    extra = {
        "acme.pth": "import os",
        "acme_weather-1.0.data/purelib/sitecustomize.py": "",
        "acme_weather-1.0.data/scripts/acme-tool": "",
    }
    points = "[console_scripts]\nacme = acme_weather.cli:main\n[pytest11]\nacme = acme_weather.t\n"
    found = inspect(str(make_wheel(tmp_path, extra=extra, points=points)))
    assert found.startup_files == (
        "acme.pth",
        "acme_weather-1.0.data/purelib/sitecustomize.py",
    )
    assert found.scripts == {"acme": "acme_weather.cli:main", "acme-tool": "a file"}
    assert found.entry_points == {"pytest11": {"acme": "acme_weather.t"}}
    assert [problem for problem in found.problems if "whenever Python starts" in problem]


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        (None, "weather has no plugin.json: only running it tells what it brings"),
        ("{", "the manifest of weather can't be used: acme_weather/plugin.json: not JSON"),
    ],
)
def test_a_manifest_that_is_missing_or_broken_is_said(tmp_path, manifest, problem):
    found = inspect(str(make_wheel(tmp_path, manifest=manifest)))
    assert found.problems[0].startswith(problem)


def test_a_manifest_where_no_host_looks_for_it_counts_for_nothing(tmp_path):
    decoy = {"acme_weather/inner/plugin.py": TRAP}
    points = "[pegboard.plugins]\nweather = acme_weather.inner.plugin:plugin\n"
    file = make_wheel(tmp_path, extra=decoy, own=points)
    found = inspect(str(file))
    assert found.manifests == {}
    assert "weather has no plugin.json: only running it tells what it brings" in found.problems


def test_files_that_replace_others_as_they_are_installed_are_shown_and_count(tmp_path):
    real = json.dumps({**MANIFEST, "secrets": ["everything"]})
    extra = {
        "acme_weather-1.0.data/purelib/acme_weather/plugin.json": real,
        "acme_weather-1.0.data/data/lib/python3.11/site-packages/pegboard/__init__.py": TRAP,
    }
    found = inspect(str(make_wheel(tmp_path, extra=extra)))
    assert found.manifests["weather"].secrets == ("everything",)
    assert "acme_weather/plugin.json is there twice, and the last one counts" in found.problems
    assert any("is written among the packages" in problem for problem in found.problems)


def test_a_wheel_that_carries_another_ones_metadata_is_a_wheel(tmp_path):
    extra = {"acme_weather/vendor/other-2.dist-info/METADATA": "Name: other\nVersion: 2\n"}
    assert inspect(str(make_wheel(tmp_path, extra=extra))).dist == "acme-weather"


def test_what_hides_in_a_folder_is_not_taken_for_a_part_of_it(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\ndependencies = 5\n")
    hidden = tmp_path / ".venv" / "site-packages"
    hidden.mkdir(parents=True)
    (hidden / "editable.pth").write_text("import os")
    assert inspect(str(tmp_path)).startup_files == ()
    (tmp_path / "own.pth").write_text("import os")
    assert inspect(str(tmp_path)).startup_files == ("own.pth",)


def test_a_wheel_that_is_no_plugin_says_so(tmp_path):
    file = tmp_path / "plain-1-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("plain-1.dist-info/METADATA", "Name: plain\nVersion: 1\n\n")
    assert inspect(str(file)).problems == (
        "it has no entry point in the group pegboard.plugins, so it is no plugin",
    )


def test_a_manifest_of_absurd_size_is_not_read(tmp_path):
    found = inspect(str(make_wheel(tmp_path, manifest=" " * 5_000_000)))
    assert found.manifests == {}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.whl", b"no zip", "can't be read as a wheel"),
        ("a.tar.gz", b"", "building a source archive runs its code"),
        ("gone.whl", None, "can't be read as a wheel"),
        ("nothing", None, "is no wheel, no folder and no installed plugin"),
    ],
)
def test_what_can_not_be_inspected_is_refused_with_the_next_step(tmp_path, name, content, message):
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=message) as caught:
        inspect(str(file))
    assert caught.value.fix


def test_a_zip_that_is_no_wheel_is_refused(tmp_path):
    file = tmp_path / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.py", "")
    with pytest.raises(UsageError, match="0 METADATA files"):
        inspect(str(file))


PROJECT = """
[project]
name = "acme-weather"
version = "2.0"
dependencies = ["httpx>=0.28"]
[project.scripts]
acme = "acme_weather.cli:main"
[project.entry-points."pegboard.plugins"]
weather = "acme_weather.plugin:plugin"
"""


@pytest.mark.parametrize("layout", ["src", "."])
def test_a_folder_is_read_and_never_run(tmp_path, layout):
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    package = tmp_path / layout / "acme_weather"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(TRAP)
    (package / "plugin.json").write_text(json.dumps(MANIFEST))
    found = inspect(str(tmp_path))
    assert (found.source, found.dist, found.version) == ("folder", "acme-weather", "2.0")
    assert list(found.manifests) == ["weather"]
    assert found.requires == ("httpx>=0.28",)
    assert found.scripts == {"acme": "acme_weather.cli:main"}


def test_a_folder_that_is_no_project_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"has no pyproject\.toml"):
        inspect(str(tmp_path))
    (tmp_path / "pyproject.toml").write_text("[project")
    with pytest.raises(UsageError, match="can't be read"):
        inspect(str(tmp_path))


def test_a_project_of_odd_types_is_still_read(tmp_path):
    (tmp_path / "pyproject.toml").write_text("project = 5\n")
    assert inspect(str(tmp_path)).plugins == {}


@pytest.mark.parametrize("name", ["web", "pegboard-web", "Pegboard_Web"])
def test_an_installed_plugin_is_found_by_id_or_distribution(site, name):
    info = site.add("web", summary="Reads pages", requires=["httpx"])
    with (info / "RECORD").open("a") as record:
        record.write("web.pth,,\n")
    found = inspect(name, site.path)
    assert (found.source, found.dist) == ("installed", "pegboard-web")
    assert found.manifests["web"].summary == "Reads pages"
    assert found.startup_files == ("web.pth",)
    assert found.packages == ("pegboard_web",)


def test_a_misspelt_name_is_corrected(site):
    site.add("web")
    with pytest.raises(UsageError, match="did you mean 'pegboard-web'"):
        inspect("pegbord-web", site.path)


def test_an_installed_plugin_whose_module_is_gone_is_still_shown(site):
    site.add("web", entry_points="[pegboard.plugins]\nweb = gone_module:plugin\n")
    assert inspect("web", site.path).manifests == {}


def test_the_json_form_has_every_field(tmp_path):
    found = inspect(str(make_wheel(tmp_path)))
    data = json.loads(json.dumps(found.to_dict()))
    assert set(data) == set(Inspection.__dataclass_fields__) | {"effects"}


def test_two_inspections_of_the_same_differ_in_nothing(tmp_path):
    found = inspect(str(make_wheel(tmp_path)))
    assert diff(found, found) == []


def test_an_upgrade_shows_what_is_new_and_what_goes(tmp_path):
    old = inspect(str(make_wheel(tmp_path)))
    changed = {
        **MANIFEST,
        "tools": [
            {"name": "now", "effects": ["net_read", "exec"], "parameters": {"type": "object"}},
            {"name": "later", "effects": [], "parameters": {"type": "object"}},
        ],
        "secrets": ["weather_key", "bank_key"],
        "hooks": {},
        "activate": "boot",
    }
    new = inspect(
        str(make_wheel(tmp_path, version="1.1", manifest=changed, extra={"a.pth": "import os"}))
    )
    assert diff(old, new) == [
        "~ version 1.0 -> 1.1",
        "~ activation of weather: use -> boot",
        "+ code at every start of Python: a.pth",
        "- hook pegboard_event of weather",
        "+ secret bank_key",
        "- tool weather:danger",
        "+ tool weather:later (no effects)",
        "~ tool weather:now: net_read -> exec, net_read",
    ]


def test_an_upgrade_shows_what_changes_about_who_may_call_a_tool(tmp_path):
    def wheel(version, **facts):
        tool = {"name": "now", "effects": ["read"], "parameters": {"type": "object"}, **facts}
        family = {"prefix": "web_", "effects": ["read"], "audience": facts.get("audience", "any")}
        manifest = {**MANIFEST, "tools": [tool], "families": [family]}
        return inspect(str(make_wheel(tmp_path, version=version, manifest=manifest)))

    plain = wheel("1.0")
    for facts, words in (
        ({"capability": "orch:web"}, "read; capability orch:web"),
        ({"control": "config"}, "read; control plane: config"),
        (
            {"attended": "coding", "exposure": "codemode"},
            "read; attended: coding; exposure codemode",
        ),
        ({"policy_class": "exec"}, "read; class exec"),
        (
            {"effects_by": {"action": {"look": ["read"], "act": ["gui", "exec"]}}},
            "read; by action: look = read, act = exec+gui",
        ),
    ):
        assert diff(plain, wheel("1.0", **facts)) == [f"~ tool weather:now: read -> {words}"]
    assert diff(wheel("1.0", audience="owner"), plain) == [
        "~ tool weather:now: read; for the owner only -> read",
        "~ tool weather:web_*: read; for the owner only -> read",
    ]


def test_an_upgrade_shows_what_a_chat_command_calls_from_then_on(tmp_path):
    def wheel(**facts):
        command = {"kind": "chat_command", "name": "warm", "facts": {"tool": "now", **facts}}
        manifest = {**MANIFEST, "contributions": [command]}
        return inspect(str(make_wheel(tmp_path, version="1.0", manifest=manifest)))

    assert diff(wheel(), wheel(argument="city", arguments={"unit": "F", "dry": False})) == [
        '~ chat_command warm: now -> now dry=false unit="F" city=...'
    ]


def test_the_order_of_a_requirements_bounds_is_no_difference(tmp_path):
    old = _with_requires("anyio<5,>=4.4", "mypy>=1; extra == 'dev'")
    assert diff(old, _with_requires("anyio>=4.4, <5")) == []
    assert diff(old, _with_requires("anyio>=4.7,<5")) == [
        "- requirement anyio<5,>=4.4",
        "+ requirement anyio<5,>=4.7",
    ]


def test_the_link_of_an_editable_install_is_no_difference():
    startup_files = ("_editable_impl_x.pth", "evil.pth")
    old = dataclasses.replace(_with_requires(), startup_files=startup_files)
    assert diff(old, _with_requires()) == ["- code at every start of Python: evil.pth"]


def _with_requires(*lines):
    return Inspection(
        target="x",
        source="wheel",
        dist="x",
        version="1",
        plugins={},
        manifests={},
        requires=lines,
    )
