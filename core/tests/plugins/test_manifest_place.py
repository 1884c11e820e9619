from __future__ import annotations

import sys

import pytest

from pegboard.plugins.discovery.manifest_place import locate, place
from pegboard.plugins.discovery.scan import PathListing, scan


def package(folder, *, regular=True):
    folder.mkdir(parents=True)
    if regular:
        (folder / "__init__.py").write_text("raise SystemExit\n")
    return folder


def test_it_lies_in_the_package_of_the_module(tmp_path):
    folder = package(tmp_path / "weather")
    (folder / "plugin.py").write_text("")
    expected = folder / "plugin.json"
    assert place("weather.plugin:plugin", [str(tmp_path)]) == expected
    assert place("weather:plugin", [str(tmp_path)]) == expected
    assert locate("weather:plugin", [str(tmp_path)]) is None
    expected.write_text("{}")
    assert locate("weather:plugin", [str(tmp_path)]) == expected


def test_the_deepest_package_counts(tmp_path):
    folder = package(package(tmp_path / "acme") / "weather")
    assert place("acme.weather.plugin:plugin", [str(tmp_path)]) == folder / "plugin.json"


def test_namespace_packages_are_looked_through(tmp_path):
    package(tmp_path / "one" / "acme" / "news", regular=False)
    folder = package(tmp_path / "two" / "acme" / "weather")
    path = [str(tmp_path / "one"), str(tmp_path / "two")]
    assert place("acme.weather.plugin:plugin", path) == folder / "plugin.json"
    listing = PathListing(path)
    scan(listing=listing)
    found = place("acme.weather.plugin:plugin", path, listing=listing)
    assert found == folder / "plugin.json"


def test_a_module_that_is_a_single_file_has_no_place_for_one(tmp_path):
    (tmp_path / "weather.py").write_text("raise SystemExit\n")
    assert place("weather:plugin", [str(tmp_path)]) is None


def test_a_module_that_is_not_there_is_said_by_name(tmp_path):
    with pytest.raises(ModuleNotFoundError) as caught:
        place("gone_module.plugin:plugin", [str(tmp_path)])
    assert caught.value.name == "gone_module"


def test_the_first_of_two_packages_on_the_path_counts_as_it_does_for_import(tmp_path):
    package(tmp_path / "b" / "weather")
    first = package(tmp_path / "a" / "weather")
    path = [str(tmp_path / "a"), str(tmp_path / "b")]
    listing = PathListing(path)
    scan(listing=listing)
    for shared in (None, listing):
        assert place("weather:plugin", path, listing=shared) == first / "plugin.json"


def test_a_single_file_earlier_on_the_path_hides_a_package(tmp_path):
    package(tmp_path / "b" / "weather")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "weather.py").write_text("")
    path = [str(tmp_path / "a"), str(tmp_path / "b")]
    listing = PathListing(path)
    scan(listing=listing)
    for shared in (None, listing):
        assert place("weather:plugin", path, listing=shared) is None


def test_without_a_path_it_looks_where_import_looks(tmp_path, monkeypatch):
    folder = package(tmp_path / "some_weather_plugin")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert place("some_weather_plugin.plugin:plugin") == folder / "plugin.json"
    assert "some_weather_plugin" not in sys.modules


def test_a_package_that_is_loaded_is_looked_for_where_it_came_from():
    file = place("pegboard.plugins.discovery.scan:scan")
    assert file is not None
    assert file.parent.name == "discovery"
