"""The sandboxes as an operator meets them: chosen without a word, and figures of what they hold."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from counterparts.ordinary_user import run_as_user, why_not

from pegboard.testing.contracts.sandbox_probes import ALLOWED, ATTACKS
from pegboard.testing.pytest_plugin import TOLD

FIGURES = Path(__file__).resolve().parents[1] / "counterparts" / "attack_figures.py"
ALL = [name for names in ATTACKS.values() for name in names]
HELD = {"bubblewrap": 39, "bubblewrap, strict": 39, "landlock": 37}
"""What each sandbox must hold of the attacks, whoever runs it."""
CONTAINER = "docker (podman)"
CONTAINER_HOLDS = 35
NO_NAMESPACES = """
import ctypes, os, platform, struct, sys
from pegboard_sandbox_bubblewrap.syscall_filter import filter_program

libc, program = ctypes.CDLL(None), filter_program(platform.machine())
kept = ctypes.create_string_buffer(program, len(program))
header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(kept))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.c_char_p(header), 0, 0) == 0
os.execv(sys.executable, [sys.executable, "-m", "pegboard", *sys.argv[1:]])
"""
"""Runs Pegboard as a container would that refuses namespaces."""


@pytest.fixture
def folder() -> Iterator[Path]:
    # not below pytest's own folder, which nobody else may enter
    made = Path(tempfile.mkdtemp(prefix="pegboard-attacks-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def pegboard(folder: Path, *words: str, prefix: tuple[str, ...] = ("-m", "pegboard")) -> str:
    workspace = folder / "ws"
    workspace.mkdir(exist_ok=True)
    ran = subprocess.run(
        [sys.executable, *prefix, "--home", str(folder / "home"), *words],
        cwd=workspace,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_shell_runs_in_bubblewrap_without_any_word_of_the_operator(folder: Path) -> None:
    said = pegboard(folder, "tools", "call", "shell", "command=hostname; pwd; echo x > made")
    assert said.startswith(f"sandbox\n{folder}/ws\n")
    assert (folder / "ws/made").read_text() == "x\n"
    report = json.loads(pegboard(folder, "sandbox", "explain", "--json"))
    assert report["sandbox"] == "bubblewrap"
    assert set(report["enforced"].values()) == {"yes"}


def test_where_namespaces_are_refused_it_runs_in_landlock(folder: Path) -> None:
    prefix = ("-c", NO_NAMESPACES)
    report = json.loads(pegboard(folder, "sandbox", "explain", "--json", prefix=prefix))
    assert report["sandbox"] == "landlock"
    source = "command=echo x > made; cat /etc/passwd || echo refused"
    said = pegboard(folder, "tools", "call", "shell", source, prefix=prefix)
    assert said.startswith("refused\n")
    assert (folder / "ws/made").read_text() == "x\n"


def test_a_path_and_a_command_are_explained(folder: Path) -> None:
    (folder / "beside").mkdir()
    said = pegboard(folder, "sandbox", "explain", "../beside")
    assert f"pegboard grant {folder}/beside\n" in said
    assert "Commands are held to the same (bubblewrap)" in said
    pegboard(folder, "grant", "../beside")
    said = pegboard(folder, "sandbox", "explain", "../beside")
    assert "../beside can be read by tools" in said
    assert f"pegboard grant {folder}/beside --write" in said
    os.mkfifo(folder / "ws/fifo")
    said = pegboard(folder, "sandbox", "explain", "fifo")
    assert "fifo can't be read: not a regular file" in said
    (folder / "ws/fifo").unlink()
    said = pegboard(folder, "sandbox", "explain", "--command", "bash -c 'true'")
    assert "It would run /usr/bin/bash in the sandbox bubblewrap" in said
    said = pegboard(folder, "sandbox", "explain", "--command", "no-such-program")
    assert "there is no program no-such-program" in said
    local = ("--set", "sandbox.use=local", "sandbox", "explain")
    assert "It would not run: commands are refused" in pegboard(folder, *local, "--command", "bash")
    assert "Commands are not held to it (local)" in pegboard(folder, *local, "../beside")


def test_what_was_refused_is_told_by_doctor_until_it_is_granted(folder: Path) -> None:
    (folder / "beside").mkdir()
    (folder / "beside/notes.md").write_text("Buy milk.")
    words = ("tools", "call", "file_read", "path=../beside/notes.md")
    for _ in range(2):
        with pytest.raises(AssertionError, match="outside the granted roots"):
            pegboard(folder, *words)
    command = f"pegboard grant {folder}/beside"
    said = pegboard(folder, "doctor")
    assert "files:file_read was refused 2 times this week" in said
    assert command in said
    pegboard(folder, *command.split()[1:])
    assert "Buy milk." in pegboard(folder, *words)
    assert "was refused" not in pegboard(folder, "doctor")


def test_what_each_sandbox_holds_of_all_attacks(
    folder: Path, record_property: Callable[[str, object], None]
) -> None:
    here = subprocess.run(
        [sys.executable, FIGURES, folder / "here"], capture_output=True, text=True, check=True
    )
    columns = {"here": json.loads(here.stdout)}
    if why_not() is None:
        ran = run_as_user([str(FIGURES), str(folder / "user/there")], folder / "user")
        assert ran.returncode == 0, ran.stderr
        columns = {"as root": columns["here"], "as an ordinary user": json.loads(ran.stdout)}
    figures = {
        title: {name: held(ended) for name, ended in column.items()}
        for title, column in columns.items()
    }
    record_property(TOLD, table(figures))
    for column in figures.values():
        for name, wanted in HELD.items():
            assert column[name] == wanted, (name, column)
        assert column.get(CONTAINER, 39) >= CONTAINER_HOLDS, column
        assert CONTAINER in column or not os.environ.get("PEGBOARD_CI")
        assert column["local, shell allowed"] < column["bubblewrap, open"] < 39


def held(ended: dict[str, str]) -> int:
    return sum(ended[name] != ALLOWED for name in ALL)


def table(figures: dict[str, dict[str, int]]) -> str:
    """Return lines of a table: sandboxes by who runs them."""
    titles = list(figures)
    lines = ["", f"attacks held, of {len(ALL)} tried", "".join(f"{t:>24}" for t in ["", *titles])]
    for name in figures[titles[0]]:
        cells = "".join(f"{figures[title].get(name, '-'):>24}" for title in titles)
        lines.append(f"{name:>24}{cells}")
    return "\n".join(lines)
