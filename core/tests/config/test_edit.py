from __future__ import annotations

import tomllib

import pytest

from pegboard.config.edit import add_item, remove_item, set_value, unset
from pegboard.contracts.errors import ConfigError, UsageError

COMMENTED = """# my settings
[agent]   # the agent
max_steps = 5  # few

# the model
model = "m"

[plugins]
disabled = [
    "web",  # broken today
    "git",
]
"""


@pytest.fixture
def file(tmp_path):
    return tmp_path / "config" / "config.toml"


@pytest.fixture
def commented(file):
    file.parent.mkdir()
    file.write_text(COMMENTED)
    return file


def test_a_first_value_makes_folder_file_and_tables(file):
    set_value(file, "plugins.web.limit", 5)
    assert tomllib.loads(file.read_text()) == {"plugins": {"web": {"limit": 5}}}
    assert file.read_text() == "[plugins.web]\nlimit = 5\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_comments_order_and_blank_lines_stay(commented):
    set_value(commented, "agent.max_steps", 9)
    assert commented.read_text() == COMMENTED.replace("max_steps = 5", "max_steps = 9")


def test_a_new_value_joins_its_table(commented):
    set_value(commented, "agent.provider", "groq")
    assert tomllib.loads(commented.read_text())["agent"]["provider"] == "groq"
    assert commented.read_text().startswith("# my settings\n[agent]   # the agent\n")
    assert "# the model" in commented.read_text()


def test_setting_and_unsetting_leaves_the_file_as_it_was(commented):
    set_value(commented, "providers.groq.type", "openai")
    assert unset(commented, "providers.groq.type")
    assert tomllib.loads(commented.read_text()) == tomllib.loads(COMMENTED)
    assert "providers" not in commented.read_text()


@pytest.mark.parametrize("value", [True, 5, 1.5, "text", ["a", 1], {"a": {"b": [1]}}])
def test_every_kind_of_value_can_be_set(file, value):
    set_value(file, "x.y", value)
    assert tomllib.loads(file.read_text())["x"]["y"] == value


def test_odd_names_are_quoted(file):
    set_value(file, 'names."a b"', "web:search")
    assert tomllib.loads(file.read_text()) == {"names": {"a b": "web:search"}}
    assert unset(file, "names.'a b'")


def test_a_whole_table_can_be_removed(commented):
    assert unset(commented, "plugins")
    assert "disabled" not in commented.read_text()
    assert not unset(commented, "plugins")
    assert not unset(commented, "plugins.web.limit")


def test_removing_what_is_not_there_writes_nothing(file):
    assert not unset(file, "a.b")
    assert not file.exists()


def test_a_table_with_a_comment_in_it_is_kept(file):
    file.parent.mkdir()
    file.write_text("[agent]\n# keep this in mind\nmax_steps = 5\n")
    assert unset(file, "agent.max_steps")
    assert "# keep this in mind" in file.read_text()


def test_items_are_added_and_removed_with_their_comments(commented):
    assert add_item(commented, "plugins.disabled", "files")
    assert not add_item(commented, "plugins.disabled", "files")
    assert "# broken today" in commented.read_text()
    assert remove_item(commented, "plugins.disabled", "git")
    assert not remove_item(commented, "plugins.disabled", "git")
    assert tomllib.loads(commented.read_text())["plugins"]["disabled"] == ["web", "files"]


def test_a_first_item_makes_the_list(file):
    assert not remove_item(file, "plugins.disabled", "web")
    assert add_item(file, "plugins.disabled", "web")
    assert tomllib.loads(file.read_text()) == {"plugins": {"disabled": ["web"]}}


def test_the_table_of_a_plugin_is_not_lost_when_the_list_is_made(file):
    set_value(file, "plugins.web.limit", 5)
    add_item(file, "plugins.disabled", "web")
    expected = {"plugins": {"disabled": ["web"], "web": {"limit": 5}}}
    assert tomllib.loads(file.read_text()) == expected
    remove_item(file, "plugins.disabled", "web")
    assert tomllib.loads(file.read_text()) == {"plugins": {"disabled": [], "web": {"limit": 5}}}


def test_inline_and_dotted_tables_can_be_changed(file):
    file.parent.mkdir()
    file.write_text("plugins.web.limit = 1\nagent = {max_steps = 5}\n")
    set_value(file, "plugins.web.limit", 2)
    set_value(file, "plugins.web.region", "x")
    set_value(file, "agent.max_steps", 6)
    assert tomllib.loads(file.read_text()) == {
        "plugins": {"web": {"limit": 2, "region": "x"}},
        "agent": {"max_steps": 6},
    }


def test_a_key_below_a_value_is_refused(commented):
    with pytest.raises(ConfigError, match=r"agent\.max_steps is a value, not a table"):
        set_value(commented, "agent.max_steps.more", 1)


def test_a_list_that_is_none_is_refused(file):
    set_value(file, "plugins.disabled", "web")
    with pytest.raises(ConfigError, match="must be a list"):
        add_item(file, "plugins.disabled", "git")


def test_a_file_that_is_not_toml_is_not_touched(file):
    file.parent.mkdir()
    file.write_text("[agent")
    with pytest.raises(ConfigError, match="not TOML"):
        set_value(file, "agent.max_steps", 1)
    assert file.read_text() == "[agent"


def test_what_is_no_key_is_refused(file):
    with pytest.raises(UsageError):
        set_value(file, "a b", 1)


def test_a_link_to_a_file_elsewhere_stays_a_link(tmp_path, file):
    real = tmp_path / "dotfiles.toml"
    real.write_text("[agent]\nmax_steps = 1\n")
    file.parent.mkdir()
    file.symlink_to(real)
    set_value(file, "agent.max_steps", 2)
    assert file.is_symlink()
    assert "max_steps = 2" in real.read_text()


def test_a_folder_that_can_not_be_written_is_an_error_with_a_fix(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(ConfigError, match="can't be written") as caught:
        set_value(tmp_path / "taken" / "config.toml", "a", 1)
    assert caught.value.fix
    assert list(tmp_path.iterdir()) == [tmp_path / "taken"]
