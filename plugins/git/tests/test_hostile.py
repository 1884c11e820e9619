"""Repositories that want to run programs, or to be led out of the grants."""

from __future__ import annotations

import os
import shutil
import stat
import time
from pathlib import Path

import pytest

from pegboard.sandboxes.refused import RefusedLog

pytestmark = pytest.mark.anyio

HOOKS = (
    *("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout"),
    *("post-merge", "pre-merge-commit", "pre-rebase", "post-rewrite", "post-index-change"),
    *("reference-transaction", "pre-auto-gc", "fsmonitor-watchman", "sendemail-validate"),
)
KEYS = (
    *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass"),
    *("core.alternateRefsCommand", "sequence.editor", "diff.external", "diff.evil.textconv"),
    *("diff.cmd.command", "filter.evil.clean", "filter.evil.smudge", "merge.evil.driver"),
    *("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "interactive.diffFilter"),
    *("credential.helper", "credential.https://example.org.helper", "pager.log", "pager.status"),
    *("pager.diff", "tar.tar.gz.command", "trailer.x.command", "mergetool.x.cmd"),
    *("difftool.x.cmd", "hook.x.command", "remote.origin.uploadpack", "remote.origin.vcs"),
    *("core.gitProxy", "uploadpack.packObjectsHook", "browser.x.cmd", "sendemail.smtpServer"),
)
READS = (
    ("status", {}),
    ("diff", {}),
    ("diff", {"ref": "HEAD~2..HEAD"}),
    ("diff", {"staged": True, "form": "stat"}),
    ("log", {"form": "patch"}),
    ("show", {"ref": "HEAD"}),
    ("file", {"paths": ["a.bin"]}),
    ("blame", {"paths": ["a.bin"]}),
    ("grep", {"pattern": "one"}),
    ("branch", {}),
    ("tag", {}),
    ("stash", {"index": 0}),
    ("ls_files", {"which": "modified"}),
    ("rev_parse", {}),
    ("remote", {}),
    ("ls_tree", {"recursive": True}),
    ("reflog", {}),
    ("shortlog", {}),
    ("merge_base", {"other": "side"}),
)
WRITES = (
    ("add", {"paths": ["plain.txt", "inner"]}),
    ("commit", {"message": "One"}),
    ("commit", {"message": "Two", "amend": True}),
    ("branch_create", {"branch": "new"}),
    ("tag_create", {"tag": "t", "message": "T"}),
    ("stash_push", {"untracked": True}),
    ("switch", {"branch": "side"}),
    ("stash_pop", {}),
    ("restore", {"paths": ["."]}),
    ("merge", {"ref": "new"}),
    ("switch", {"branch": "new"}),
    ("rebase", {"ref": "side"}),
    ("branch_delete", {"branch": "side", "force": True}),
    ("tag_delete", {"tag": "t"}),
    ("unstage", {}),
    ("branch_rename", {"branch": "new", "to": "newer"}),
    ("mv", {"paths": ["plain.txt"], "to": "moved.txt"}),
    ("commit", {"message": "Moved"}),
    ("revert", {"ref": "HEAD"}),
    ("cherry_pick", {"ref": "HEAD~1"}),
    ("rm", {"paths": ["moved.txt"]}),
    ("reset", {"mode": "hard", "ref": "HEAD~1"}),
)


def spy(folder: Path, marks: Path, name: str) -> str:
    """Write a program that leaves a mark, and passes on what it is given."""
    program = folder / f"spy-{len(list(folder.iterdir()))}"
    mark = marks / name.replace("/", "_")
    program.write_text(f'#!/bin/sh\necho x >> "{mark}"\ncat 2>/dev/null </dev/null\nexit 0\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def left(marks: Path) -> set[str]:
    """Return the names of the programs that were run."""
    return {mark.name for mark in marks.iterdir()}


def hostile(bench) -> Path:
    """Make the repository one that runs a program wherever git lets it; return the marks."""
    folder, marks, spies = bench.folder, bench.folder / "marks", bench.folder / "spies"
    marks.mkdir()
    spies.mkdir()
    bench.git("init", "-q", "inner")
    inner = folder / "inner"
    (inner / "x").write_text("x\n")
    for arguments in (("add", "x"), ("commit", "-qm", "Inner")):
        bench.git("-C", "inner", *arguments)
    module = '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n\tignore = none\n'
    bench.put(".gitmodules", module)
    bench.put(".gitattributes", "*.bin diff=evil merge=evil\n*.flt filter=evil\n*.cmd diff=cmd\n")
    for name in ("a.bin", "b.flt", "c.cmd", "plain.txt"):
        bench.put(name, "one\n")
    bench.put(".gitignore", "marks\nspies\n")
    bench.git("add", "-A")
    bench.git("commit", "-qm", "Third")
    bench.git("branch", "side")
    bench.put("a.bin", "stashed\n")
    bench.git("stash")
    for name in ("a.bin", "c.cmd", "plain.txt"):
        bench.put(name, "one\ntwo\n")
    bench.put("inner/x", "changed\n")
    bench.git("-C", "inner", "config", "core.fsmonitor", spy(spies, marks, "inner-fsmonitor"))
    hooks = folder / ".git/hooks"
    shutil.rmtree(hooks, ignore_errors=True)
    hooks.mkdir()
    bench.git("config", "core.hooksPath", str(hooks))
    for key in KEYS:
        program = spy(spies, marks, key)
        bench.git("config", key, f"!{program}" if key.startswith("credential") else program)
    bench.git("config", "hook.x.event", "pre-commit")
    bench.git("config", "submodule.inner.update", f"!{spy(spies, marks, 'update')}")
    bench.git("config", "filter.evil.required", "true")
    for alias in ("status", "st", "log", "commit"):
        bench.git("config", f"alias.{alias}", f"!{spy(spies, marks, 'alias')}")
    for key in ("commit.gpgSign", "tag.gpgSign", "log.showSignature", "merge.verifySignatures"):
        bench.git("config", key, "true")
    for name in HOOKS:
        shutil.copy(spy(spies, marks, f"hook-{name}"), hooks / name)
    for mark in marks.iterdir():
        mark.unlink()
    return marks


@pytest.mark.parametrize("sandbox", ["bubblewrap", "local"])
async def test_no_program_of_a_repository_is_run(host, opened, repository, sandbox) -> None:
    repository(host.workspace)
    async with opened(sandbox) as bench:
        marks = hostile(bench)
        for action, arguments in READS:
            await bench.read(action, **arguments)
            assert not left(marks), (action, left(marks))
        for action, arguments in WRITES:
            await bench.write(action, **arguments)
            assert not left(marks), (action, left(marks))


async def test_the_spies_would_have_been_run(bench) -> None:
    marks = hostile(bench)
    bench.git("status")
    bench.git("diff")
    bench.git("commit", "-qm", "x", "--allow-empty", "--no-gpg-sign")
    found = left(marks)
    assert {"core.fsmonitor", "diff.external", "hook-pre-commit", "inner-fsmonitor"} <= found


async def test_a_file_with_a_filter_is_not_stored_unfiltered(bench) -> None:
    bench.put(".gitattributes", "*.big filter=lfs\n")
    bench.put("x.big", "large")
    error = await bench.error("git_write", "add", paths=["."])
    assert error.code == "filtered" and "x.big" in error.message
    await bench.write("add", paths=[".gitattributes"])


async def test_filters_that_are_left_out_are_told(bench) -> None:
    bench.git("config", "filter.lfs.clean", "git-lfs clean -- %f")
    assert "[filters left out: lfs;" in (await bench.read("status")).text


async def test_a_merge_driver_is_replaced_and_nothing_is_lost(bench) -> None:
    bench.git("config", "merge.evil.driver", "true")
    bench.put(".gitattributes", "a.txt merge=evil\n")
    bench.git("add", "-A")
    bench.git("commit", "-qm", "Attributes")
    bench.git("switch", "-qc", "other")
    bench.put("a.txt", "one\ntheirs\n")
    bench.git("commit", "-qam", "Theirs")
    bench.git("switch", "-q", "main")
    bench.put("a.txt", "one\nours\n")
    bench.git("commit", "-qam", "Ours")
    assert (await bench.error("git_write", "merge", ref="other")).code == "conflict"
    text = (bench.folder / "a.txt").read_text()
    assert "ours" in text and "theirs" in text and "<<<<<<<" in text


async def test_included_configuration_is_answered_when_read_and_refused_when_written(bench) -> None:
    marks = bench.folder / "marks"
    marks.mkdir()
    (bench.folder / "spies").mkdir()
    program = spy(bench.folder / "spies", marks, "included")
    bench.put(
        "more.cfg", f'[diff "inc"]\n\ttextconv = {program}\n[core]\n\tfsmonitor = {program}\n'
    )
    bench.put(".gitattributes", "a.txt diff=inc\n")
    bench.git("config", "include.path", "../more.cfg")
    await bench.read("blame", paths=["a.txt"])
    await bench.read("status")
    assert not left(marks)
    error = await bench.error("git_write", "add", paths=["a.txt"])
    assert error.code == "unsafe_configuration" and "include.path" in error.message


@pytest.mark.parametrize("sandbox", ["bubblewrap", "local"])
async def test_a_repository_does_not_lead_out_of_the_grants(
    host, opened, repository, git, tmp_path, sandbox
) -> None:
    outside = repository(tmp_path / "outside")
    workspace = host.workspace
    for name in ("worktree", "gitfile", "linked", "alternates", "bare", "above"):
        (workspace / name).mkdir()
    async with opened(sandbox) as bench:
        bench.git("init", "-q", "worktree")
        bench.git("-C", "worktree", "config", "core.worktree", str(outside))
        (workspace / "gitfile/.git").write_text(f"gitdir: {outside}/.git\n")
        (workspace / "linked/.git").symlink_to(outside / ".git")
        bench.git("init", "-q", "alternates")
        alternates = workspace / "alternates/.git/objects/info/alternates"
        alternates.write_text(f"{outside}/.git/objects\n")
        bench.git("init", "-q", "--bare", "bare")
        git(tmp_path, "init", "-q")  # the workspace is inside this one
        errors = {
            name: await bench.error("git_read", "status", repo=name)
            for name in ("worktree", "gitfile", "linked", "alternates", "bare", "above")
        }
        error = await bench.error("git_write", "add", repo="above", paths=["."])
        assert error.fix == f"pegboard grant {tmp_path} --write"
    codes = {name: error.code for name, error in errors.items()}
    led_out = {"sandbox_refused", "outside_the_grants", "not_a_repository", "git_failed"}
    assert codes.pop("bare") == "bare_repository"
    assert codes.pop("above") == codes.pop("alternates") == codes.pop("gitfile")
    assert errors["above"].code == "sandbox_refused"
    assert errors["above"].fix == f"pegboard grant {tmp_path}"
    assert errors["gitfile"].fix == f"pegboard grant {outside}"
    assert set(codes.values()) <= led_out
    assert outside.joinpath(".git/HEAD").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
async def test_a_repository_of_somebody_else_is_used_when_the_operator_says_so(
    host, opened, repository
) -> None:
    folder = repository(host.workspace / "theirs")
    for place in (folder, folder / ".git"):
        os.chown(place, 1001, 1001)
    async with opened() as bench:
        error = await bench.error("git_read", "status", repo="theirs")
        assert error.code == "dubious_ownership"
        assert "plugins.git.safe_directories" in error.fix and str(folder) in error.fix
    async with opened(safe_directories=[str(folder)]) as bench:
        await bench.read("status", repo="theirs")


async def test_the_environment_of_the_host_says_nothing(
    bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("GIT_DIR", "/nowhere"), ("GIT_CONFIG_COUNT", "junk")):
        monkeypatch.setenv(name, value)
    await bench.read("status")


async def test_keys_of_stray_bytes_are_answered_too(anywhere) -> None:
    folder = anywhere.folder
    (folder / "marks").mkdir()
    (folder / "spies").mkdir()
    program = spy(folder / "spies", folder / "marks", "stray").encode()
    with (folder / ".git/config").open("ab") as config:
        config.write(b'[filter "\xff"]\n\tclean = ' + program + b'\n\trequired\n[diff "a\'b=c"]\n')
        config.write(b"\ttextconv = " + program + b"\n")
    (folder / ".git/info/attributes").write_bytes(b"a.txt filter=\xff\nsub/b.txt diff=a'b=c\n")
    anywhere.put("a.txt", "changed\n")
    anywhere.put("sub/b.txt", "changed\n")
    assert "[filters left out: \\xff;" in (await anywhere.read("status")).text
    await anywhere.read("diff")
    await anywhere.read("blame", paths=["sub/b.txt"])
    assert not left(folder / "marks")


async def test_a_repository_above_the_workspace_is_used_once_it_is_granted(
    host, opened, repository
) -> None:
    repository(host.workspace.parent)
    async with opened() as bench:
        error = await bench.error("git_read", "log")
        noted = RefusedLog(bench.running.host.config.paths.state).recent(time.time())
    assert error.code == "sandbox_refused"
    assert error.fix == f"pegboard grant {host.workspace.parent}"
    assert [(item.tool, item.fix) for item in noted] == [("git:git_read", error.fix)]
    async with opened(grants=[host.workspace.parent]) as bench:
        found = await bench.read("log")
        assert found.structured["count"] == 2


SHOWN = """
[core]
abbrev = 4
commentChar = F
quotePath = true
[log]
date = format:%Y
follow = true
decorate = full
showRoot = false
diffMerges = on
excludeDecoration = refs/heads/*
[format]
pretty = oneline
[diff]
algorithm = patience
context = 9
renames = copies
relative = true
srcPrefix = x/
noPrefix = true
statGraphWidth = 1
[status]
showUntrackedFiles = no
renames = false
[grep]
patternType = fixed
lineNumber = false
fullName = false
[color]
ui = always
grep = always
diff = always
branch = always
[column]
ui = always
[i18n]
logOutputEncoding = latin1
commitEncoding = latin1
[commit]
template = /etc/passwd
cleanup = scissors
[merge]
ff = false
autoStash = true
[rerere]
enabled = true
[branch "side"]
mergeOptions = --no-commit --squash
"""
"""Changes what git writes, or does, where it is obeyed."""


async def test_what_a_repository_configures_changes_no_result(opened, host, repository) -> None:
    folder = repository(host.workspace)
    async with opened("local") as bench:
        bench.git("branch", "side", "HEAD~1")
        bench.git("tag", "v1", "side")
        bench.put("\u00fc.txt", "\u00fc\n" * 9)
        bench.git("mv", "sub/b.txt", "c.txt")
        reads = (
            ("status", {}),
            ("log", {"paths": ["a.txt"]}),
            ("log", {"form": "patch"}),
            ("log", {"form": "stat"}),
            ("diff", {"ref": "HEAD~1"}),
            ("grep", {"pattern": "(one|two)", "context": 1}),
            ("branch", {}),
        )
        before = [await bench.read(action, **asked) for action, asked in reads]
        with (folder / ".git/config").open("a") as config:
            config.write(SHOWN)
        for (action, asked), old in zip(reads, before, strict=True):
            new = await bench.read(action, **asked)
            assert (new.text, new.structured) == (old.text, old.structured), (action, asked)
        made = await bench.write("commit", message="\u00dcm\n\nF kept\n# kept", all=True)
        assert made.structured["commit"]["body"] == "F kept\n# kept"
        assert b"encoding" not in bench.git("cat-file", "commit", "HEAD").encode()
        await bench.write("switch", branch="side")
        await bench.write("merge", ref="main")
        assert bench.git("rev-parse", "side") == bench.git("rev-parse", "main")
