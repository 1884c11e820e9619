from __future__ import annotations

import pytest

from pegboard.config.trust import FolderTrust
from pegboard.contracts.errors import ConfigError


def test_an_answer_is_remembered(paths, tmp_path):
    trust = FolderTrust(paths)
    assert trust.known(tmp_path) is None
    trust.set(tmp_path, True)
    assert FolderTrust(paths).known(tmp_path) is True
    trust.set(tmp_path, False)
    assert FolderTrust(paths).known(tmp_path) is False


def test_an_answer_holds_for_exactly_one_folder(paths, tmp_path):
    trust = FolderTrust(paths)
    trust.set(tmp_path, True)
    assert trust.known(tmp_path / "cloned-tomorrow") is None


def test_a_link_to_a_folder_is_that_folder(paths, tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    trust = FolderTrust(paths)
    trust.set(link, True)
    assert trust.all() == {real: True}
    assert trust.known(real) is True


def test_an_answer_can_be_forgotten(paths, tmp_path):
    trust = FolderTrust(paths)
    assert not trust.forget(tmp_path)
    trust.set(tmp_path, False)
    assert trust.forget(tmp_path)
    assert trust.known(tmp_path) is None


def test_answers_are_for_the_owner_only(paths, tmp_path):
    trust = FolderTrust(paths)
    trust.set(tmp_path, True)
    assert trust.file.stat().st_mode & 0o777 == 0o600


def test_what_is_no_answer_is_none(paths, tmp_path):
    trust = FolderTrust(paths)
    trust.file.parent.mkdir(parents=True)
    trust.file.write_text(f'{{"{tmp_path}": "yes"}}')
    assert trust.known(tmp_path) is None
    trust.file.write_text("{")
    with pytest.raises(ConfigError):
        trust.known(tmp_path)
