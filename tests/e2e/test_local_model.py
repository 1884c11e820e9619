"""`pegboard ask` against a model on this machine: command, host, wire, and a real answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from counterparts import Llama

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def pegboard(tmp_path: Path, llama: Llama) -> Run:
    """Run the command in a folder and a home of its own, with a model named `home` configured."""
    (tmp_path / "work").mkdir()

    def run(*words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        home = {"PEGBOARD_HOME": str(tmp_path / "home")}
        only = {"PEGBOARD_PLUGINS": "provider-offline,provider-openai,sandbox-local,terminal"}
        return subprocess.run(
            [sys.executable, "-m", "pegboard", *words],
            cwd=tmp_path / "work",
            env={**os.environ, **home, **only, **env},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    where = f'type = "openai-compatible", server = "llamacpp", base_url = "{llama.url}/v1"'
    # so small a model calls no tool by itself
    table = f"{{{where}, tools = false}}"
    for key, value in (("providers.home", table), ("agent.provider", "home")):
        done = run("config", "set", key, value)
        assert done.returncode == 0, done.stderr
    return run


def test_a_model_on_this_machine_answers(pegboard: Run) -> None:
    asked = pegboard("ask", "--json", "Say hello")
    assert asked.returncode == 0, asked.stderr
    events = [json.loads(line) for line in asked.stdout.splitlines()]
    streamed = "".join(event["text"] for event in events if event["type"] == "text")
    (finished,) = [event for event in events if event["type"] == "turn_finished"]
    assert finished["status"] == "done"
    assert finished["text"] == streamed.strip() != ""
    assert finished["usage"]["input"] > 10 and not finished["usage"]["estimated"]


def test_its_answer_is_what_is_printed(pegboard: Run) -> None:
    asked = pegboard("ask", "--quiet", stdin="Say hello")
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.strip()
    assert asked.stderr == ""


def test_a_model_that_is_not_running_is_told_with_its_address(pegboard: Run) -> None:
    pegboard("config", "set", "providers.home.base_url", "http://127.0.0.1:9/v1")
    asked = pegboard("ask", "Say hello")
    assert asked.returncode == 7
    assert "llama.cpp at 127.0.0.1:9 can't be reached" in asked.stderr


def test_a_key_that_is_missing_is_told_with_the_command_that_sets_it(pegboard: Run) -> None:
    pegboard("config", "set", "providers.home.api_key", "home_key")
    asked = pegboard("ask", "Say hello")
    assert asked.returncode != 0
    assert "pegboard secret set home_key" in asked.stderr
    assert pegboard("secret", "set", "home_key", stdin="sk-anything\n").returncode == 0
    assert pegboard("ask", "Say hello").returncode == 0


def test_without_a_key_the_vendor_is_not_the_default(pegboard: Run) -> None:
    for key in ("agent.provider", "providers.home"):
        assert pegboard("config", "unset", key).returncode == 0
    asked = pegboard("ask", "hello there")
    assert asked.returncode == 0, asked.stderr
    assert "offline responder" in asked.stdout
    named = pegboard("ask", "--provider", "openai", "hello there")
    assert "pegboard secret set openai_api_key" in named.stderr
