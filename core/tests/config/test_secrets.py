from __future__ import annotations

import json

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from pegboard.config.secrets import Secrets
from pegboard.contracts.errors import ConfigError, UsageError


class MemoryKeyring(KeyringBackend):
    """A keyring that works, as long as it is not locked."""

    priority = 5

    def __init__(self):
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def _open(self):
        if self.locked:
            raise KeyringLocked("the keyring is locked")

    def get_password(self, service, username):
        self._open()
        return self.kept.get((service, username))

    def set_password(self, service, username, password):
        self._open()
        self.kept[service, username] = password

    def delete_password(self, service, username):
        self._open()
        del self.kept[service, username]


@pytest.fixture(autouse=True)
def no_keyring():
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def memory():
    made = MemoryKeyring()
    keyring.set_keyring(made)
    return made


def test_the_environment_counts_first(paths):
    Secrets(paths, {}).set("web_key", "kept")
    assert Secrets(paths, {"WEB_KEY": "given"}).get("web_key") == "given"
    assert Secrets(paths, {"web_key": "given"}).get("web_key") == "given"
    assert Secrets(paths, {"WEB_KEY": ""}).get("web_key") == "kept"
    assert Secrets(paths, {"MY_WEB_KEY": "x"}).get("my-web.key") == "x"


def test_without_a_keyring_secrets_are_in_a_file_for_the_owner_only(paths):
    secrets = Secrets(paths, {})
    assert secrets.get("web_key") is None
    assert not secrets.has("web_key")
    assert secrets.set("web_key", "s3cret") == "file"
    assert secrets.get("web_key") == "s3cret"
    assert secrets.where("web_key") == "file"
    assert paths.secrets_file.stat().st_mode & 0o777 == 0o600


def test_names_are_listed_and_values_are_not(paths):
    secrets = Secrets(paths, {"OTHER": "x"})
    secrets.set("b", "1")
    secrets.set("a", "2")
    assert secrets.names() == [("a", "file"), ("b", "file")]


def test_a_secret_can_be_removed(paths):
    secrets = Secrets(paths, {})
    secrets.set("a", "1")
    assert secrets.remove("a")
    assert not secrets.remove("a")
    assert secrets.names() == []


def test_a_working_keyring_is_used_and_the_file_holds_the_name_only(paths, memory):
    secrets = Secrets(paths, {})
    assert secrets.set("web_key", "s3cret") == "keyring"
    assert secrets.get("web_key") == "s3cret"
    assert secrets.names() == [("web_key", "keyring")]
    assert "s3cret" not in paths.secrets_file.read_text()
    assert secrets.remove("web_key")
    assert memory.kept == {}


def test_whether_a_secret_is_set_is_known_without_asking_a_keyring(paths, memory):
    Secrets(paths, {}).set("web_key", "s3cret")
    memory.locked = True
    assert Secrets(paths, {}).has("web_key")


def test_the_file_can_be_asked_for(paths, memory):
    assert Secrets(paths, {}, backend="file").set("a", "1") == "file"
    assert memory.kept == {}


def test_a_secret_that_moves_is_kept_once(paths, memory):
    Secrets(paths, {}, backend="file").set("a", "1")
    assert Secrets(paths, {}).set("a", "2") == "keyring"
    assert json.loads(paths.secrets_file.read_text()) == {"keyring": ["a"], "values": {}}
    Secrets(paths, {}, backend="file").set("a", "3")
    assert Secrets(paths, {}).names() == [("a", "file")]
    assert Secrets(paths, {}).get("a") == "3"


def test_a_keyring_that_is_asked_for_must_work(paths, memory):
    memory.locked = True
    with pytest.raises(ConfigError, match="locked") as caught:
        Secrets(paths, {}, backend="keyring").set("a", "1")
    assert caught.value.fix == "pegboard config set secrets.backend file"
    keyring.set_keyring(keyring.backends.fail.Keyring())
    with pytest.raises(ConfigError, match="no keyring works here"):
        Secrets(paths, {}, backend="keyring").set("a", "1")


def test_a_locked_keyring_falls_back_to_the_file(paths, memory):
    memory.locked = True
    assert Secrets(paths, {}).set("a", "1") == "file"


def test_a_secret_that_left_the_keyring_says_how_to_set_it_again(paths, memory):
    secrets = Secrets(paths, {})
    secrets.set("a", "1")
    memory.kept.clear()
    with pytest.raises(ConfigError, match="is not there any more") as caught:
        secrets.get("a")
    assert caught.value.fix == "pegboard secret set a"
    keyring.set_keyring(keyring.backends.null.Keyring())
    with pytest.raises(ConfigError, match="no keyring works here"):
        secrets.get("a")
    assert secrets.remove("a")


@pytest.mark.parametrize("name", ["", "a b", "9a", "a/b", "a=b"])
def test_what_can_not_name_a_secret_is_refused(paths, name):
    with pytest.raises(UsageError, match="can't name a secret"):
        Secrets(paths, {}).set(name, "x")


def test_an_empty_secret_is_refused(paths):
    with pytest.raises(UsageError, match="can't be empty"):
        Secrets(paths, {}).set("a", "")


@pytest.mark.parametrize("text", ["{", "[]", '{"values": []}', '{"keyring": {}}', "\x00"])
def test_a_broken_file_is_an_error_that_says_what_to_move(paths, text):
    paths.secrets_file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        Secrets(paths, {}).get("a")
    assert caught.value.fix == f"mv {paths.secrets_file} {paths.secrets_file}.old"


def test_the_environment_works_with_a_broken_file(paths):
    paths.secrets_file.write_text("{")
    assert Secrets(paths, {"A": "x"}).get("a") == "x"


def test_a_secret_named_by_its_variable_is_read_from_there_only(paths):
    secrets = Secrets(paths, {"MY_KEY": "abc"}, backend="file")
    assert secrets.get("env:MY_KEY") == "abc"
    assert secrets.where("env:MY_KEY") == "environment"
    assert secrets.get("env:OTHER") is None
    assert not secrets.has("env:OTHER")
