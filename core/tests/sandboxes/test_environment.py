from __future__ import annotations

import pytest

from pegboard.sandboxes import command_environment

HOST = {
    "PATH": "/usr/bin",
    "HOME": "/home/ann",
    "LANG": "C.UTF-8",
    "LC_TIME": "de_DE.UTF-8",
    "OPENAI_API_KEY": "sk-secret",
    "GITHUB_TOKEN": "ghp",
    "LD_PRELOAD": "/evil.so",
    "BASH_ENV": "/evil.sh",
    "BASH_FUNC_ls%%": "() { evil; }",
    "PYTHONPATH": "/evil",
    "GIT_SSH_COMMAND": "evil",
    "PAGER": "evil",
    "IFS": "x",
    "TERM": "xterm",
    "SOMETHING": "else",
}


def test_only_the_short_list_passes() -> None:
    assert command_environment(source=HOST) == {
        "PATH": "/usr/bin",
        "HOME": "/home/ann",
        "LANG": "C.UTF-8",
        "LC_TIME": "de_DE.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
    }


def test_the_operator_lets_further_names_through() -> None:
    found = command_environment(["SOMETHING", "GITHUB_TOKEN", "MISSING"], source=HOST)
    assert found["SOMETHING"] == "else"
    assert found["GITHUB_TOKEN"] == "ghp"
    assert "MISSING" not in found


@pytest.mark.parametrize(
    "name",
    ["LD_PRELOAD", "BASH_ENV", "BASH_FUNC_ls%%", "PYTHONPATH", "GIT_SSH_COMMAND", "PAGER", "IFS"],
)
def test_what_makes_programs_run_code_never_passes(name: str) -> None:
    assert name not in command_environment([name], source=HOST)


def test_the_caller_of_a_command_sets_what_it_likes() -> None:
    found = command_environment(source={}, extra={"GIT_CONFIG_NOSYSTEM": "1", "TERM": "xterm"})
    assert found["GIT_CONFIG_NOSYSTEM"] == "1"
    assert found["TERM"] == "xterm"
    assert found["PATH"]
