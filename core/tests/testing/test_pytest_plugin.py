"""The pytest plugin costs the test runs of other projects nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = ("anyio", "pydantic", "pluggy", "jsonschema_rs", "pegboard.host", "pegboard.contracts")


def test_loading_it_imports_nothing_heavy() -> None:
    code = (
        "import sys, pytest\n"
        "before = set(sys.modules)\n"
        "import pegboard.testing.pytest_plugin, pegboard.testing\n"
        "print(sorted(set(sys.modules) - before))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ended.stdout
    assert not [name for name in HEAVY if name in loaded], loaded


def test_every_public_name_is_there() -> None:
    import pegboard.testing

    for name in pegboard.testing.__all__:
        assert getattr(pegboard.testing, name) is not None
    assert dir(pegboard.testing) == sorted(pegboard.testing.__all__)


def test_a_suite_runs_in_a_project_that_configures_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "from pegboard.testing import ProviderContract, ScriptedModel, Call\n\n\n"
        "def answer(request):\n"
        "    return Call('echo', text='hello') if request.tools else 'Hello to you'\n\n\n"
        "class TestIt(ProviderContract):\n"
        "    def make_provider(self):\n"
        "        return ScriptedModel([answer], repeat=True)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout
    assert "skipped" not in ended.stdout


def test_a_failing_law_shows_what_was_compared(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "from pegboard.testing import ProviderContract, ScriptedModel\n\n\n"
        "class TestIt(ProviderContract):\n"
        "    def make_provider(self):\n"
        "        return ScriptedModel(['only text'], repeat=True)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", "complete_in_done"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert "['echo']" in ended.stdout, ended.stdout
