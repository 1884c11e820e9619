from __future__ import annotations

import os
import subprocess
from pathlib import Path

from pegboard.testing import PluginContract, ToolContract

IDENTITY = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "PATH": os.environ["PATH"],
}


class TestPlugin(PluginContract):
    plugin = "git"


class GitContract(ToolContract):
    needs = ("sandbox-bubblewrap",)
    config = {  # noqa: RUF012
        "sandbox": {"use": "bubblewrap"},
        "plugins.git": {"author_name": "Ann", "author_email": "ann@example.org"},
    }

    def prepare(self, workspace: Path) -> None:
        if (workspace / ".git").exists():
            return
        (workspace / "a.txt").write_text("one\n")
        for arguments in (("init", "-qb", "main"), ("add", "."), ("commit", "-qm", "First")):
            subprocess.run(["git", *arguments], cwd=workspace, env=IDENTITY, check=True)


class TestGitRead(GitContract):
    tool = "git:git_read"
    works = (
        {"action": "status"},
        {"action": "log"},
        {"action": "diff"},
        {"action": "blame", "paths": ["a.txt"]},
        {"action": "grep", "pattern": "one"},
    )
    fails = (
        ({"action": "log", "ref": "gone"}, "unknown_revision"),
        ({"action": "log", "ref": "--all"}, "invalid_arguments"),
        ({"action": "status", "repo": "gone"}, "not_found"),
        ({"action": "status", "repo": "/etc"}, "sandbox_refused"),
    )


class TestGitWrite(GitContract):
    tool = "git:git_write"
    works = (
        {"action": "unstage"},
        {"action": "branch_create", "branch": "one"},
        {"action": "switch", "branch": "one"},
        {"action": "init", "repo": "inner"},
    )
    fails = (
        ({"action": "push"}, "push_refused"),
        ({"action": "commit", "message": "x"}, "nothing_to_commit"),
        ({"action": "switch", "branch": "gone"}, "unknown_revision"),
        ({"action": "fetch"}, "unknown_remote"),
        ({"action": "merge", "ref": "-x"}, "invalid_arguments"),
    )
