"""`pegboard plugins build`, `new` and `test`: what an author does."""

from __future__ import annotations

import pytest

from pegboard.testing.dists import hello_code


def test_build_writes_the_manifest_and_check_holds_it_current(here):
    dist = here.plugin("weather", code=hello_code("weather"), manifest=None)
    ended = here.run("plugins", "build", "weather")
    assert ended.code == 0, ended.err
    assert f"{dist.manifest} is written." in ended.out
    assert (
        here.run("plugins", "build", "weather", "--check").out == f"{dist.manifest} is current.\n"
    )
    dist.code.write_text(dist.code.read_text().replace("Say hello.", "Say goodbye."))
    ended = here.run("plugins", "build", "weather", "--check", "--json")
    assert ended.code == 1
    assert ended.json["plugins"][0]["differences"]
    assert "is not current" in here.run("plugins", "build", "weather", "--check").out
    assert here.run("plugins", "build", "weather").code == 0
    assert "Say goodbye." in dist.manifest.read_text()


@pytest.mark.parametrize("code", ["raise ValueError('no')\n", "import sys; sys.exit(3)\n", "("])
def test_build_of_code_that_cannot_be_imported_is_one_message(here, code):
    here.plugin("weather", code=code, manifest=None)
    ended = here.run("plugins", "build", "weather")
    assert ended.code == 4
    assert "weather" in ended.err and "Traceback (most recent call last)" not in ended.err


def test_build_outside_a_project_is_one_message(here):
    ended = here.run("plugins", "build")
    assert ended.code == 4
    assert "pyproject.toml" in ended.err


def test_new_makes_a_project_that_installs_and_works(here):
    folder = here.work / "weather"
    ended = here.run("plugins", "new", "weather", "--kind", "tool", "--directory", str(folder))
    assert ended.code == 0, ended.err
    assert "pip install --editable" in ended.out
    assert (folder / "pyproject.toml").is_file()
    installed = here.python_run(
        ["-m", "pip", "install", "--no-deps", "--no-build-isolation", str(folder)]
    )
    assert installed.code == 0, installed.err
    (record,) = here.run("plugins", "list", "--json").json["plugins"]
    assert (record["id"], record["state"]) == ("weather", "ready")


def test_new_never_writes_over_something(here):
    (here.work / "pegboard-weather").mkdir()
    (here.work / "pegboard-weather" / "mine.txt").write_text("mine")
    ended = here.run("plugins", "new", "weather")
    assert ended.code == 2
    assert "Fix:" in ended.err
    assert [path.name for path in (here.work / "pegboard-weather").iterdir()] == ["mine.txt"]


def test_a_bad_name_is_refused_with_a_good_one(here):
    ended = here.run("plugins", "new", "My Weather")
    assert ended.code == 2
    assert "my-weather" in ended.err


def test_test_runs_the_contract_of_an_installed_plugin(here):
    dist = here.plugin(
        "weather",
        code=hello_code("weather"),
        manifest=None,
        readme="# Weather\n\nIt adds weather_hello.\n",
    )
    assert here.run("plugins", "build", "weather").code == 0
    ended = here.run("plugins", "test", "weather", "--", "-q", "-p", "no:cacheprovider")
    assert ended.code == 0, ended.out + ended.err
    assert " passed" in ended.out
    dist.code.write_text(dist.code.read_text() + "print('noise')\n")
    assert here.run("plugins", "test", "weather", "--", "-q").code == 1


def test_test_of_a_folder_that_is_not_installed_says_how_to_install_it(here):
    folder = here.work / "weather"
    assert here.run("plugins", "new", "weather", "--directory", str(folder)).code == 0
    ended = here.run("plugins", "test", str(folder))
    assert ended.code == 4
    assert "pip install --editable" in ended.err


def test_a_command_of_core_can_not_be_brought_by_a_plugin(here):
    ended = here.run("plugins", "new", "status", "--kind", "command")
    assert ended.code == 2
    assert "pegboard plugins new my-status --kind command" in ended.err
