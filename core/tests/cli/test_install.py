"""`pegboard plugins install` and `uninstall` with the real pip, without a network."""

from __future__ import annotations

import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from pegboard.testing.dists import hello_code, hello_manifest, make_dist

PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "pegboard-weather"
version = "3.0"
[project.entry-points."pegboard.plugins"]
weather = "pegboard_weather.plugin:plugin"
"""


def wheel(folder: Path, plugin_id: str = "weather", version: str = "1.0.0", **manifest) -> Path:
    """Write a wheel of a plugin that works."""
    entry = f"pegboard_{plugin_id}.plugin:plugin"
    dist = make_dist(
        folder / f"{plugin_id}-{version}",
        f"pegboard-{plugin_id}",
        version=version,
        code=hello_code(plugin_id),
        manifest=hello_manifest(plugin_id, entry, **manifest),
        requires=(),
    )
    file = folder / f"pegboard_{plugin_id}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(dist.folder.rglob("*")):
            if path.is_file() and path.name != "INSTALLER":
                archive.write(path, path.relative_to(dist.folder))
    return file


def project(folder: Path) -> Path:
    """Write the source of a plugin that works."""
    package = folder / "src" / "pegboard_weather"
    package.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "plugin.py").write_text(hello_code("weather"), encoding="utf-8")
    return folder


def test_a_wheel_is_shown_installed_and_verified(here):
    ended = here.run("plugins", "install", "--yes", str(wheel(here.work)))
    assert ended.code == 0, ended.err
    assert "tool weather_hello" in ended.out
    assert ended.out.endswith("weather 1.0.0 is ready.\n")
    assert "Installing" in ended.err
    assert [item["id"] for item in here.run("plugins", "list", "--json").json["plugins"]] == [
        "weather"
    ]


def test_without_a_terminal_and_without_yes_nothing_is_installed(here):
    ended = here.run("plugins", "install", str(wheel(here.work)))
    assert ended.code == 2
    assert "--yes" in ended.err
    assert here.run("plugins", "list", "--json").json["plugins"] == []


def test_a_package_of_the_index_is_looked_into_before_it_is_installed(here):
    wheel(here.work, version="2.0")
    env = {"PIP_FIND_LINKS": str(here.work)}
    ended = here.python_run(
        ["-m", "pegboard", "plugins", "install", "-y", "pegboard-weather==2.0", "--json"], env=env
    )
    assert ended.code == 0, ended.err
    assert ended.json["inspection"]["version"] == "2.0"
    assert ended.json["plugins"][0]["state"] == "ready"


def test_a_package_that_does_not_exist_is_one_message(here):
    ended = here.run("plugins", "install", "-y", "pegboard-nowhere")
    assert ended.code == 4
    assert "There is no package named pegboard-nowhere" in ended.err
    assert "--allow-build" not in ended.err and "Traceback" not in ended.err


def test_a_package_that_is_published_as_source_only_says_so_and_can_be_built(here):
    folder = project(here.work / "source")
    root = "pegboard_weather-3.0"
    archive = here.work / f"{root}.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(folder, root)
        metadata = here.work / "PKG-INFO"
        metadata.write_text("Metadata-Version: 2.1\nName: pegboard-weather\nVersion: 3.0\n")
        packed.add(metadata, f"{root}/PKG-INFO")
    env = {"PIP_FIND_LINKS": str(here.work), "PIP_NO_BUILD_ISOLATION": "0", "PYTHONPATH": ""}
    refused = here.run("plugins", "install", "-y", "pegboard-weather", env=env)
    assert refused.code == 4
    assert "published as source only (3.0)" in " ".join(refused.err.split())
    assert "pegboard plugins install --allow-build pegboard-weather" in refused.err
    other = here.run("plugins", "install", "-y", "--allow-build", "pegboard-weather>4", env=env)
    assert "No version of pegboard-weather is >4; there are 3.0." in " ".join(other.err.split())
    ended = here.run("plugins", "install", "-y", "--allow-build", "pegboard-weather", env=env)
    assert ended.code == 0, ended.err
    assert "weather 3.0 is unmanifested" in ended.out


def test_a_newer_version_is_compared_with_the_installed_one(here):
    assert here.run("plugins", "install", "-y", str(wheel(here.work))).code == 0
    newer = wheel(here.work, version="1.1", secrets=["api_key"])
    ended = here.run("plugins", "install", "-y", str(newer))
    assert ended.code == 0, ended.err
    assert "version 1.0.0 -> 1.1" in ended.out
    assert "secret api_key" in ended.out


def test_a_folder_is_installed_and_edits_take_effect_when_it_is_editable(here):
    folder = project(here.work / "weather")
    ended = here.run(
        "plugins",
        "install",
        "-y",
        "--editable",
        str(folder),
        env={"PIP_NO_BUILD_ISOLATION": "0", "PYTHONPATH": ""},
    )
    assert ended.code == 0, ended.err
    assert "weather 3.0 is unmanifested" in ended.out
    built = here.run("plugins", "build", str(folder))
    assert built.code == 0, built.err
    assert here.run("plugins", "list", "--json").json["plugins"][0]["state"] == "ready"


@pytest.mark.parametrize("spelling", ["click", "click/", "./click"])
def test_what_was_inspected_is_what_is_installed(here, spelling):
    project(here.work / "click")  # a folder named like a package of the index
    ended = here.run(
        "plugins", "install", "-y", spelling, env={"PIP_NO_BUILD_ISOLATION": "0", "PYTHONPATH": ""}
    )
    assert ended.code == 0, ended.err
    assert "weather 3.0 is unmanifested" in ended.out


@pytest.mark.parametrize("target", ["plugin-1.0.tar.gz", "git+https://example.invalid/x.git"])
def test_what_has_to_be_built_first_is_refused(here, target):
    (here.work / "plugin-1.0.tar.gz").write_bytes(b"")
    ended = here.run("plugins", "install", "-y", target)
    assert ended.code == 4
    assert "--allow-build" in ended.err


def test_a_package_that_is_no_plugin_is_refused(here):
    file = here.work / "plain-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("plain-1.0.dist-info/METADATA", "Name: plain\nVersion: 1.0\n")
    ended = here.run("plugins", "install", "-y", str(file))
    assert ended.code == 4
    assert "no Pegboard plugin" in ended.err


@pytest.mark.parametrize("target", ["--index-url", "./nothing", "no-such.whl", "a b"])
def test_what_is_no_target_is_refused_before_pip_sees_it(here, target):
    ended = here.run("plugins", "install", "-y", "--", target)
    assert ended.code == 2
    assert "Fix:" in ended.err


def test_clashes_are_told_before_anything_is_installed(here):
    here.plugin("weather", name="other-weather", package="other_weather")
    ended = here.run("plugins", "install", str(wheel(here.work)))
    assert "The id weather belongs to other-weather" in ended.err
    assert "pegboard config set names.weather_hello weather:weather_hello" in ended.err


def test_an_installed_plugin_that_cannot_be_used_ends_with_4(here):
    ended = here.run("plugins", "install", "-y", str(wheel(here.work, api=">=9")))
    assert ended.code == 4
    assert "incompatible" in ended.err


def test_uninstall_removes_the_package_and_keeps_settings_until_purge(here):
    settings = {"type": "object", "properties": {"units": {"type": "string"}}}
    file = str(wheel(here.work, config=settings))
    assert here.run("plugins", "install", "-y", file).code == 0
    here.write_config("[plugins.weather]\nunits = 'metric'\n[agent]\nmax_steps = 5\n")
    data = here.home / "data" / "plugins" / "weather"
    storage = here.home / "data" / "storage" / "weather"
    for folder in (data, storage):
        folder.mkdir(parents=True)
    ended = here.run("plugins", "uninstall", "--yes", "weather")
    assert (ended.code, ended.out) == (0, "weather (pegboard-weather) is uninstalled.\n"), ended.err
    assert "units" in here.config.read_text() and data.exists() and storage.exists()
    assert here.run("plugins", "install", "-y", file).code == 0
    assert here.run("plugins", "uninstall", "-y", "--purge", "weather").code == 0
    assert "units" not in here.config.read_text() and "max_steps" in here.config.read_text()
    assert not data.exists() and not storage.exists()
    assert here.run("plugins", "list", "--json").json["plugins"] == []


PURGED = """
[providers.sky]
[providers."my.sky"]
type = "sky"
[providers.full]
type = "weather:sky"
[providers.my]
type = "other"
[providers.my.sky]
kept = true
"""


def test_purge_removes_every_instance_of_what_the_plugin_brought_and_nothing_else(here):
    facts = [{"kind": "provider", "name": "sky", "summary": "", "config": None, "facts": {}}]
    file = str(wheel(here.work, contributions=facts))
    assert here.run("plugins", "install", "-y", file).code == 0
    here.write_config(PURGED)
    # the distribution may be named in any of its spellings
    ended = here.run("plugins", "uninstall", "-y", "--purge", "Pegboard_Weather")
    assert ended.code == 0, ended.err
    left = tomllib.loads(here.config.read_text())
    assert left == {"providers": {"my": {"type": "other", "sky": {"kept": True}}}}


def test_uninstall_warns_of_plugins_that_need_it(here):
    assert here.run("plugins", "install", "-y", str(wheel(here.work))).code == 0
    here.plugin("travel", manifest={"needs": {"plugins": ["weather"]}})
    ended = here.run("plugins", "uninstall", "weather")
    assert ended.code == 2
    assert "travel (pegboard-travel) needs weather" in ended.err


def test_uninstall_of_an_id_of_two_asks_for_the_distribution(here):
    here.plugin("weather")
    here.plugin("weather", name="other-weather", package="other_weather")
    ended = here.run("plugins", "uninstall", "-y", "weather")
    assert ended.code == 2
    assert "pegboard plugins uninstall" in ended.err


def test_a_no_at_the_question_changes_nothing(here):
    ended = here.in_terminal("plugins", "install", str(wheel(here.work)), typed="n\n")
    assert ended.code == 1
    assert "Install pegboard-weather 1.0.0 here?" in ended.out
    assert "Nothing was changed." in ended.out
    assert here.run("plugins", "list", "--json").json["plugins"] == []


def test_a_yes_at_the_question_installs(here):
    ended = here.in_terminal("plugins", "install", str(wheel(here.work)), typed="y\n")
    assert ended.code == 0, ended.out
    assert "weather 1.0.0 is ready." in ended.out
