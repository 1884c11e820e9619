"""`pegboard record` and `pegboard replay` with the real plugins and the offline provider."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def pegboard(tmp_path: Path):
    """Run the command in a folder of its own, with a home of its own."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.txt").write_text("the tin man\n", encoding="utf-8")
    plugins = "files,provider-offline,sandbox-local,terminal"

    def run(*words: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pegboard", *words],
            cwd=folder,
            env={
                **os.environ,
                "PEGBOARD_HOME": str(tmp_path / "home"),
                "PEGBOARD_PLUGINS": plugins,
                **env,
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    run.folder = folder
    return run


def test_a_turn_is_recorded_and_replayed(pegboard) -> None:
    asked = pegboard("ask", "read notes.txt")
    assert asked.returncode == 0, asked.stderr
    recorded = pegboard("record", "-o", "run.json")
    assert recorded.returncode == 0, recorded.stderr
    file = pegboard.folder / "run.json"
    assert file.stat().st_mode & 0o777 == 0o600
    data = json.loads(file.read_text("utf-8"))
    assert pegboard("record", data["turn"]).stdout == file.read_text("utf-8")
    for more in ((), ("--tools",)):
        replayed = pegboard("replay", "run.json", *more)
        assert replayed.returncode == 0, replayed.stderr
        assert "the tin man" in replayed.stdout
        assert replayed.stdout == asked.stdout


def test_a_replay_needs_no_plugin_and_no_store(pegboard, tmp_path: Path) -> None:
    assert pegboard("ask", "read notes.txt").returncode == 0
    assert pegboard("record", "-o", "run.json").returncode == 0
    empty = {"PEGBOARD_HOME": str(tmp_path / "other"), "PEGBOARD_PLUGINS": ""}
    replayed = pegboard("replay", "run.json", **empty)
    assert replayed.returncode == 0, replayed.stderr
    assert "the tin man" in replayed.stdout
    assert not (tmp_path / "other" / "state").exists()


def test_what_comes_out_otherwise_is_told_and_fails(pegboard) -> None:
    assert pegboard("ask", "read notes.txt").returncode == 0
    assert pegboard("record", "-o", "run.json").returncode == 0
    (pegboard.folder / "notes.txt").write_text("the lion\n", encoding="utf-8")
    assert pegboard("replay", "run.json").returncode == 0
    replayed = pegboard("replay", "run.json", "--tools", "--json")
    assert replayed.returncode == 1
    (difference,) = json.loads(replayed.stdout)["differences"]
    assert "the lion" in difference["now"]
    assert "the tin man" in difference["recorded"]


def test_secrets_are_masked(pegboard) -> None:
    secret = {"SERVICE_API_KEY": "hush-hush-hush"}
    (pegboard.folder / "notes.txt").write_text("it is hush-hush-hush\n", encoding="utf-8")
    assert "hush-hush-hush" in pegboard("ask", "read notes.txt", **secret).stdout
    recorded = pegboard("record", **secret)
    assert recorded.returncode == 0
    assert "hush-hush-hush" not in recorded.stdout
    assert "[redacted]" in recorded.stdout


@pytest.mark.parametrize(
    ("words", "why", "code"),
    [
        (("record",), "no store", 1),
        (("replay", "gone.json"), "can't be read", 2),
        (("replay", "notes.txt"), "no JSON", 2),
    ],
)
def test_what_can_not_be_done_is_told(pegboard, words, why, code) -> None:
    ended = pegboard(*words)
    assert ended.returncode == code
    assert why in ended.stderr
