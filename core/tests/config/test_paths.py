from __future__ import annotations

from pathlib import Path

from pegboard.config.paths import Paths, find_paths, make_private


def test_a_home_holds_all_four_folders(tmp_path):
    paths = find_paths({"PEGBOARD_HOME": f" {tmp_path} "})
    assert paths.config_file == tmp_path / "config" / "config.toml"
    assert paths.secrets_file == tmp_path / "config" / "secrets.json"
    assert paths.plugin_failures == tmp_path / "state" / "plugins"
    assert (paths.data, paths.cache) == (tmp_path / "data", tmp_path / "cache")
    assert list(tmp_path.iterdir()) == []


def test_a_relative_home_counts_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_paths({"PEGBOARD_HOME": "mine"}).state == tmp_path / "mine" / "state"


def test_a_tilde_is_the_home_of_the_person():
    assert find_paths({"PEGBOARD_HOME": "~/x"}).data == Path.home() / "x" / "data"


def test_without_a_home_the_folders_are_those_of_xdg(tmp_path):
    paths = find_paths({"HOME": "/home/ada", "XDG_STATE_HOME": str(tmp_path)})
    assert paths.config == Path("/home/ada/.config/pegboard")
    assert paths.state == tmp_path / "pegboard"
    assert paths.data == Path("/home/ada/.local/share/pegboard")
    assert paths.cache == Path("/home/ada/.cache/pegboard")


def test_a_relative_xdg_folder_is_ignored():
    paths = find_paths({"HOME": "/home/ada", "XDG_CONFIG_HOME": "somewhere"})
    assert paths.config == Path("/home/ada/.config/pegboard")


def test_paths_are_values():
    one, two = Paths("a", "b", "c", "d"), Paths(Path("a"), "b", "c", "d")
    assert one == two
    assert hash(one) == hash(two)
    assert one != Paths("a", "b", "c", "e")
    assert repr(one) == "Paths('a', 'b', 'c', 'd')"


def test_private_folders_are_for_the_owner_only_and_others_are_left_alone(tmp_path):
    tmp_path.chmod(0o755)
    made = make_private(tmp_path / "a" / "b")
    assert make_private(made) == tmp_path / "a" / "b"
    assert [path.stat().st_mode & 0o777 for path in (made, made.parent)] == [0o700, 0o700]
    assert tmp_path.stat().st_mode & 0o777 == 0o755
