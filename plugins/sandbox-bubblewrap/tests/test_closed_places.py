"""What stays closed inside the grants, and what a command may leave behind."""

from __future__ import annotations

import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from pegboard_sandbox_bubblewrap.sandbox import BubblewrapSandbox

from pegboard import Grant
from pegboard.testing.contracts.sandbox_suite import sh

pytestmark = pytest.mark.anyio
Opener = Callable[..., Awaitable[BubblewrapSandbox]]


async def said(box: BubblewrapSandbox, source: str) -> str:
    """Return both streams, in the order in which they were written."""
    return (await sh(box, f"exec 2>&1; {source}")).stdout.text().strip()


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


async def test_the_rest_of_the_machine_does_not_exist(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    text = await said(
        await opened(), f"cat {tmp_path}/secret; ls -A / /home /etc; ls ~; cat /etc/passwd"
    )
    assert f"{tmp_path}/secret: No such file" in text
    assert "shadow" not in text
    assert "sbin/nologin" not in text


async def test_pegboards_own_folders_and_secrets_are_hidden_inside_a_grant(
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for name in (".config/pegboard", ".config/gh", ".config/app", "state"):
        (home / name).mkdir(parents=True)
        (home / name / "f").write_text("secret")
    (home / ".config/gcloud").symlink_to(home / ".config/gh")
    monkeypatch.setenv("HOME", str(home))
    own = (home / ".config/pegboard", home / ".config/pegboard-data")
    box = await opened(Grant(home / ".config", "rw"), protected=own)
    text = await said(
        box,
        f"cd {home}/.config; cat app/f; cat pegboard/f; cat gh/f; cat gcloud/f;"
        " echo evil > pegboard/f; echo evil > pegboard-data/f; mv pegboard p2; rm -rf gh; ls gh",
    )
    assert text.startswith("secret")
    assert text.count("secret") == 1
    assert (home / ".config/pegboard/f").read_text() == "secret"
    assert (home / ".config/gh/f").read_text() == "secret"
    assert not list((home / ".config/pegboard-data").iterdir())


async def test_a_grant_inside_a_hidden_folder_opens_that_alone(
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "home/.config"
    for name in ("kept", "other"):
        (config / "gh/deep" / name).mkdir(parents=True)
        (config / "gh/deep" / name / "f").write_text(name)
    (config / "gh/hosts").write_text("secret")
    monkeypatch.setenv("HOME", str(config.parent))
    box = await opened(Grant(config, "rw"), Grant(config / "gh/deep/kept", "rw"))
    text = await said(
        box, f"cd {config}; cat gh/deep/kept/f; cat gh/deep/other/f gh/hosts; ls gh; touch gh/x"
    )
    assert text.startswith("kept")
    assert "secret" not in text
    assert text.count("No such file") == 2
    assert "Permission denied" in text
    assert (await sh(box, f"echo n > {config}/gh/deep/kept/f; mv {config}/gh {config}/g")).exit_code
    assert (config / "gh/deep/kept/f").read_text() == "n\n"


async def test_private_keys_are_hidden(opened: Opener, workspace: Path) -> None:
    (workspace / "a/b").mkdir(parents=True)
    for name in ("id_rsa", "a/b/tls.pem"):
        (workspace / name).write_text("-----BEGIN PRIVATE KEY-----\n")
    (workspace / "public.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    text = await said(await opened(), "cat id_rsa a/b/tls.pem public.pem")
    assert "PRIVATE KEY" not in text
    assert "CERTIFICATE" in text


async def test_git_works_and_its_config_and_hooks_can_not_be_changed(
    opened: Opener, workspace: Path
) -> None:
    git(workspace, "init", "-q")
    config = (workspace / ".git/config").read_bytes()
    box = await opened()
    done = await sh(
        box,
        "export EMAIL=a@example.org GIT_AUTHOR_NAME=a GIT_COMMITTER_NAME=a;"
        "echo 1 > f && git add f && git commit -qm first && git checkout -qb side && git log -1",
    )
    assert done.exit_code == 0, done.stderr.text()
    for attack in (
        "git config core.fsmonitor ./evil",
        "echo evil >> .git/config",
        "rm -f .git/config",
        "echo evil > .git/hooks/pre-commit",
        "mv .git/hooks .git/h2",
        "mv .git g2 && mkdir .git",
        "rm -rf .git",
        "mount --bind f .git/config",
    ):
        assert (await sh(box, attack)).exit_code != 0, attack
    assert (workspace / ".git/config").read_bytes() == config
    assert not (workspace / ".git/hooks/pre-commit").exists()


async def test_a_repository_further_down_is_pinned_with_its_ancestors(
    opened: Opener, workspace: Path
) -> None:
    (workspace / "lib/inner").mkdir(parents=True)
    git(workspace / "lib/inner", "init", "-q")
    text = await said(
        await opened(), "echo evil >> lib/inner/.git/config; mv lib lib2; mv lib/inner lib/i2; ls"
    )
    assert "Read-only file system" in text
    assert text.count("Device or resource busy") == 2
    assert "evil" not in (workspace / "lib/inner/.git/config").read_text()


async def test_a_file_that_points_git_elsewhere_does_not_stay(
    opened: Opener, workspace: Path
) -> None:
    git(workspace, "init", "-q")
    done = await sh(await opened(), "mkdir evil; cp -r .git/. evil; echo ../evil > .git/commondir")
    assert not (workspace / ".git/commondir").exists()
    assert (workspace / ".git/commondir.held").exists()
    assert ".git/commondir decides what programs run" in done.notes[0]
    git(workspace, "status")


async def test_files_that_decide_what_programs_run_can_be_read_and_not_changed(
    opened: Opener, workspace: Path
) -> None:
    (workspace / ".envrc").write_text("good")
    (workspace / ".vscode").mkdir()
    (workspace / ".vscode/tasks.json").write_text("good")
    (workspace / "sub").mkdir()
    (workspace / "sub/.envrc").write_text("good")
    box = await opened()
    assert (await said(box, "cat .envrc")) == "good"
    text = await said(
        box,
        "echo evil > .envrc; rm -f .envrc; mv .envrc x; echo evil > .vscode/tasks.json;"
        "touch .vscode/new; mv .vscode y; echo evil > sub/.envrc; mv sub z; ls -A",
    )
    assert "evil" not in "".join(
        (workspace / name).read_text() for name in (".envrc", ".vscode/tasks.json", "sub/.envrc")
    )
    assert text.splitlines()[-3:] == [".envrc", ".vscode", "sub"]


async def test_such_a_file_that_a_command_makes_does_not_stay_under_its_name(
    opened: Opener, workspace: Path
) -> None:
    box = await opened()
    done = await sh(box, "echo evil > .envrc; mkdir .vscode; ln -s /etc .idea; echo .git > .git")
    assert sorted(path.name for path in workspace.iterdir()) == [
        *(".envrc.held", ".git.held", ".idea.held", ".vscode.held")
    ]
    assert len(done.notes) == 4
    assert f"pegboard grant {workspace}/.envrc --write" in done.notes[0]
    again = await sh(box, "echo evil > .envrc")
    assert (workspace / ".envrc.held-1").exists()
    assert len(again.notes) == 1


async def test_a_grant_that_names_it_opens_it(opened: Opener, workspace: Path) -> None:
    (workspace / ".vscode").mkdir()
    box = await opened(Grant(workspace / ".vscode", "rw"))
    assert (await sh(box, "echo x > .vscode/tasks.json")).exit_code == 0
    assert (workspace / ".vscode/tasks.json").read_text() == "x\n"


async def test_a_closed_file_that_is_a_link_breaks_nothing_and_stays_what_it_is(
    opened: Opener, workspace: Path
) -> None:
    (workspace / "conf").mkdir()
    (workspace / "conf/envrc").write_text("good")
    (workspace / ".envrc").symlink_to("conf/envrc")
    (workspace / ".vscode").symlink_to("nowhere")
    done = await sh(await opened(), "cat .envrc; rm .envrc .vscode; echo evil > .envrc")
    assert done.stdout.text() == "good"
    assert (workspace / ".envrc").readlink() == Path("conf/envrc")
    assert (workspace / ".vscode").readlink() == Path("nowhere")
    assert (workspace / ".envrc.held").read_text() == "evil\n"


async def test_a_new_repository_stays_if_it_runs_nothing(opened: Opener, workspace: Path) -> None:
    (workspace / "second").mkdir()
    box = await opened()
    assert not (await sh(box, "git init -q . && git config user.name me")).notes
    assert (workspace / ".git/config").is_file()
    other = await opened(at=workspace / "second")
    done = await sh(other, "git init -q . && git config core.fsmonitor ./evil")
    assert done.exit_code == 0
    assert not (workspace / "second/.git").exists()
    assert (workspace / "second/.git.held/config").is_file()
    assert done.notes[0].startswith(".git decides what programs run")


async def test_commands_at_the_same_time_do_not_lay_over_what_the_other_has_made(
    opened: Opener, workspace: Path
) -> None:
    box = await opened()

    async def first() -> None:
        await sh(box, "ln -s /etc/shadow .envrc; touch ready; sleep 0.6")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first)
        while not (workspace / "ready").exists():
            await anyio.sleep(0.01)
        assert "root:" not in await said(box, "cat .envrc")
    assert not (workspace / ".envrc").is_symlink()
