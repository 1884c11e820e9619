"""The table fault x command: whatever is broken, the host starts and says whose fault it is.

Every cell is a real process in an environment of its own: generated distributions on PYTHONPATH,
beside the standard plugins, and an empty PEGBOARD_HOME.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import pegboard
from pegboard.testing import FAULTS, Dist, Fault

TRACEBACK = "Traceback (most recent call last)"
STANDARD = ("pegboard-files", "pegboard-terminal", "pegboard-provider-offline")


@dataclass(frozen=True)
class Ask:
    """The cell of `ask`.

    Args:
        text: What is asked.
        exit_code: How the command ends.
        says: What the person must read, beside the distribution's name and the fix.
        named: True when the distribution and the fix must be told.
    """

    text: str
    exit_code: int
    says: tuple[str, ...] = ()
    named: bool = True


TOOL_FAILED, TURN_FAILED, CRASHED = 8, 7, 9
ASK = {
    "exits-hard": Ask("/exits_hard_hello", CRASHED, named=False),
    "prints": Ask("/prints_hello", 0, ("hello from prints",), named=False),
    "floods": Ask("/floods_hello", 0, ("hello from floods",), named=False),
    "guard-raises": Ask(
        "hello", TURN_FAILED, ("guard-raises", "pegboard plugins disable guard-raises"), named=False
    ),
    "guard-missing": Ask(
        "hello",
        TURN_FAILED,
        ("pegboard-guard-missing", "pegboard plugins disable guard-missing"),
        named=False,
    ),
    "observer-raises": Ask(
        "/observer_raises_hello", 0, ("plugin observer-raises", "broken on purpose"), named=False
    ),
    "clash-one": Ask(
        "/clash_hello",
        TOOL_FAILED,
        ("pegboard-clash-one", "pegboard-clash-two", "names.clash_hello"),
        named=False,
    ),
}


def ask_of(fault: Fault) -> Ask:
    """Return the cell: a fault of the files is told at once, one of the code when it is used."""
    if fault.name in ASK:
        return ASK[fault.name]
    if fault.at_boot == "ready":
        return Ask(f"/{fault.name.replace('-', '_')}_hello", TOOL_FAILED)
    return Ask("hello", 0)


class Environment:
    """A home, generated distributions, and the command."""

    def __init__(self, folder: Path) -> None:
        self.site = folder / "site"
        self.home = folder / "home"
        self.work = folder / "work"
        self.work.mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "user"),
            "PYTHONPATH": str(self.site),
            "PEGBOARD_HOME": str(self.home),
            "NO_COLOR": "1",
            "COLUMNS": "200",
        }

    def write(self, fault: Fault) -> tuple[Dist, ...]:
        if fault.config:
            config = self.home / "config" / "config.toml"
            config.parent.mkdir(parents=True, exist_ok=True)
            with config.open("a") as file:
                file.write(fault.config)
        return fault.make(self.site)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pegboard", *words],
            cwd=self.work,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
        )


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path)


def flat(text: str) -> str:
    """Return text on one line: tables wrap, and a wrapped word is the same word."""
    return " ".join(text.split())


def check_version(environment: Environment) -> None:
    for option in ("--version", "--help"):
        ended = environment.run(option)
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr == ""
    assert pegboard.__version__ in environment.run("--version").stdout


def check_list(environment: Environment, dists: tuple[Dist, ...], state: str, fault: Fault) -> None:
    ended = environment.run("plugins", "list", "--json")
    assert (ended.returncode, ended.stderr) == (0, "")
    data = json.loads(ended.stdout)
    records = {item["distribution"]: item for item in data["plugins"]}
    first = records[dists[0].name]
    assert first["state"] == state, first
    assert all(records[name]["usable"] for name in STANDARD), "a fault broke other plugins"
    if state not in ("ready", "unmanifested"):
        check_words(first, fault)


def check_words(record: dict[str, Any], fault: Fault) -> None:
    assert fault.reason in record["reason"], record
    assert fault.fix in record["fix"], record


def check_why(environment: Environment, dists: tuple[Dist, ...], state: str, fault: Fault) -> None:
    ended = environment.run("plugins", "why", dists[0].id)
    assert (ended.returncode, ended.stderr) == (0, "")
    told = flat(ended.stdout)
    assert dists[0].name in told
    assert f"is {state}" in told
    if state not in ("ready", "unmanifested"):
        assert fault.reason in told
        assert fault.fix in told


def check_ask(environment: Environment, dists: tuple[Dist, ...], fault: Fault) -> None:
    cell = ask_of(fault)
    ended = environment.run("ask", cell.text)
    told = flat(ended.stdout + ended.stderr)
    assert ended.returncode == cell.exit_code, told[:2000]
    assert TRACEBACK not in told
    expected = [*cell.says, *((dists[0].name, fault.fix, fault.reason) if cell.named else ())]
    for words in expected:
        assert words in told, f"{words!r} is not in: {told[:2000]}"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_host_survives(fault: Fault, environment: Environment) -> None:
    dists = environment.write(fault)
    check_version(environment)
    check_list(environment, dists, fault.at_boot, fault)
    check_why(environment, dists, fault.at_boot, fault)
    check_ask(environment, dists, fault)
    if fault.after != fault.at_boot:
        check_list(environment, dists, fault.after, fault)
        check_why(environment, dists, fault.after, fault)


def test_a_crash_is_told_at_the_next_start(environment: Environment) -> None:
    fault = next(fault for fault in FAULTS if fault.name == "exits-hard")
    environment.write(fault)
    assert environment.run("ask", "/exits_hard_hello").returncode == CRASHED
    ended = environment.run("ask", "hello")
    assert ended.returncode == 0, ended.stderr
    told = flat(ended.stdout + ended.stderr)
    assert "pegboard-exits-hard" in told
    assert fault.fix in told
    assert environment.run("plugins", "enable", "exits-hard").returncode == 0
    assert environment.run("ask", "/exits_hard_hello").returncode == CRASHED


def test_what_a_plugin_prints_is_not_in_the_json(environment: Environment) -> None:
    for fault in FAULTS:
        if fault.name in ("prints", "floods"):
            environment.write(fault)
    ended = environment.run("ask", "--json", "/prints_hello\n/floods_hello")
    assert ended.returncode == 0, ended.stderr[-2000:]
    events = [json.loads(line) for line in ended.stdout.splitlines()]
    outputs = [event["output"] for event in events if event["type"] == "tool_finished"]
    assert len(outputs) == 2
    assert "noise" not in ended.stdout


def test_a_clash_is_decided_by_one_line_of_config(environment: Environment) -> None:
    environment.write(next(fault for fault in FAULTS if fault.name == "clash-one"))
    data = json.loads(environment.run("plugins", "list", "--json").stdout)
    told = json.dumps(data["problems"])
    for words in ("clash_hello", "pegboard-clash-one", "pegboard-clash-two"):
        assert words in told
    ended = environment.run("ask", "/clash_two__clash_hello")
    assert "hello from clash-two" in ended.stdout, ended.stderr
    config = ("config", "set", "names.clash_hello", "clash-one:clash_hello")
    assert environment.run(*config).returncode == 0
    ended = environment.run("ask", "/clash_hello")
    assert (ended.returncode, "hello from clash-one" in ended.stdout) == (0, True), ended.stderr


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """All faults at once, but for those whose config would clash."""
    environment = Environment(tmp_path_factory.mktemp("everything"))
    for fault in FAULTS:
        environment.write(fault)
    return environment


MANAGE = [
    ("--version",),
    ("--help",),
    ("plugins", "--help"),
    ("plugins", "list"),
    ("plugins", "list", "--json"),
    ("plugins", "list", "--times"),
    ("plugins", "list", "--provides", "tool"),
    ("plugins", "show", "raises"),
    ("plugins", "show", "broken-json"),
    ("plugins", "why", "same-id"),
    ("plugins", "inspect", "raises"),
    ("plugins", "order"),
    ("plugins", "disable", "raises"),
    ("plugins", "enable", "raises"),
    ("config", "show"),
    ("config", "schema"),
    ("secret", "list"),
]


@pytest.mark.parametrize("words", MANAGE, ids=" ".join)
def test_commands_about_plugins_work_with_everything_broken(
    words: tuple[str, ...], everything: Environment
) -> None:
    ended = everything.run(*words)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert TRACEBACK not in ended.stdout + ended.stderr
    assert ended.stdout


def test_the_doctor_names_every_broken_distribution(everything: Environment) -> None:
    ended = everything.run("plugins", "doctor")
    told = ended.stdout + ended.stderr
    assert ended.returncode != 0
    assert TRACEBACK not in told
    for fault in FAULTS:
        if fault.at_boot not in ("ready", "unmanifested"):
            assert fault.name in told, f"the doctor says nothing of {fault.name}"


def test_two_distributions_that_own_one_file_are_named_by_the_doctor(
    everything: Environment,
) -> None:
    told = flat(everything.run("plugins", "doctor").stdout)
    assert "pegboard-shared-module" in told
    assert "pegboard-shared-module-too" in told
    assert "pegboard_shared" in told
