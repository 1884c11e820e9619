from __future__ import annotations

import pytest

from pegboard.config.paths import Paths


@pytest.fixture
def paths(tmp_path):
    home = tmp_path / "home"
    made = Paths(home / "config", home / "state", home / "data", home / "cache")
    made.config.mkdir(parents=True)
    return made
