"""What a person reads about who answers, where they chose nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
ALL = "provider-offline,provider-openai,provider-anthropic,provider-local,sandbox-local,terminal"


@pytest.fixture
def pegboard(tmp_path: Path) -> Run:
    """Run the command in a folder and a home of its own, with the plugins that are named."""
    clean = {name: value for name, value in os.environ.items() if name not in KEYS}

    def run(*words: str, plugins: str = ALL, **env: str) -> subprocess.CompletedProcess[str]:
        home = {"PEGBOARD_HOME": str(tmp_path / "home"), "PEGBOARD_PLUGINS": plugins}
        return subprocess.run(
            [sys.executable, "-m", "pegboard", *words],
            cwd=tmp_path,
            env={**clean, **home, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def findings(ended: subprocess.CompletedProcess[str]) -> list[tuple[str, str]]:
    checks = json.loads(ended.stdout)["checks"]
    return [(item["level"], item["message"]) for item in checks if item["about"] == "provider"]


def test_where_nobody_can_answer_every_way_to_a_model_is_named_in_order_of_ease(
    pegboard: Run,
) -> None:
    asked = pegboard("ask", "hello", plugins=ALL.removeprefix("provider-offline,"))
    assert asked.returncode == 5
    ways = (
        'server = "ollama"',
        "pegboard models add smollm2",
        "export ANTHROPIC_API_KEY=...",
        "export OPENAI_API_KEY=...",
        "no model: the tools that you name",
    )
    places = [asked.stderr.find(way) for way in ways]
    assert places == sorted(places) and places[0] > 0, asked.stderr
    assert len(asked.stderr.splitlines()) < 10


def test_doctor_says_who_answers_now_and_what_each_other_lacks(pegboard: Run) -> None:
    ((level, text),) = findings(pegboard("doctor", "--json"))
    assert level == "ok"
    assert text.splitlines() == [
        "offline answers: there is no other",
        "anthropic: lacks its key: export ANTHROPIC_API_KEY=...",
        "openai: lacks its key: export OPENAI_API_KEY=...",
        "local: is not set up: providers.local.model is missing",
        "openai-compatible: is not set up: providers.openai-compatible.server is missing",
    ]


def test_doctor_warns_of_a_key_on_an_open_line_and_of_a_choice_that_cannot_answer(
    pegboard: Run,
) -> None:
    pegboard("config", "set", "providers.openai.base_url", "http://models.test/v1")
    found = findings(pegboard("doctor", "--json", OPENAI_API_KEY="sk-1"))
    assert [level for level, _ in found] == ["ok", "warning"]
    assert found[0][1].startswith("openai/gpt-5.5 answers: [providers.openai] sets it up\n")
    assert "offline: could answer, without a model" in found[0][1]
    assert found[1][1].endswith("to models.test without encryption.")
    lacking = findings(pegboard("doctor", "--json"))
    assert lacking[0][0] == "broken"
    assert "is to answer, but its key openai_api_key is not set." in lacking[0][1]


def test_doctor_stands_an_address_that_is_none_and_knows_this_machine_from_others(
    pegboard: Run, tmp_path: Path
) -> None:
    addresses = ("http://[::1", "http://127.0.0.2:1", "http://[::1]:1", "http://localhost.test")
    tables = [
        f'[providers.at{n}]\ntype = "openai"\napi_key = "env:MINE"\nbase_url = "{url}"\n'
        for n, url in enumerate(addresses)
    ]
    (tmp_path / "home" / "config").mkdir(parents=True)
    (tmp_path / "home" / "config" / "config.toml").write_text("".join(tables))
    ended = pegboard("doctor", "--json")
    assert [text.split()[0] for level, text in findings(ended) if level == "warning"] == [
        "at0",
        "at3",
    ]
    checks = json.loads(ended.stdout)["checks"]
    assert [item["fix"] for item in checks if item["level"] == "broken"] == ["export MINE=..."]


def test_choosing_one_whose_key_is_not_set_says_so(pegboard: Run) -> None:
    chosen = pegboard("models", "default", "anthropic")
    assert chosen.stdout == "anthropic answers from now on.\n"
    assert "anthropic_api_key is not set" in chosen.stderr
    assert "export ANTHROPIC_API_KEY=..." in chosen.stderr
    assert pegboard("models", "default", "openai", OPENAI_API_KEY="sk-1").stderr == ""
