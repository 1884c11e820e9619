"""What a command may read and change: the workspace and the grants, as the call allows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from pegboard_sandbox_bubblewrap.sandbox import BubblewrapSandbox

from pegboard import Grant, SandboxError
from pegboard.testing.contracts.sandbox_suite import sh

pytestmark = pytest.mark.anyio
Opener = Callable[..., Awaitable[BubblewrapSandbox]]
WORK = frozenset({"read", "fs_write", "exec"})


async def said(box: BubblewrapSandbox, source: str) -> str:
    """Return both streams, in the order in which they were written."""
    return (await sh(box, f"exec 2>&1; {source}")).stdout.text().strip()


async def test_the_workspace_can_be_written_when_the_call_may_write(
    opened: Opener, workspace: Path
) -> None:
    box = (await opened()).narrowed(WORK)
    assert (await sh(box, "echo x > made; mkdir -p a/b; mv made a/b")).exit_code == 0
    assert (workspace / "a/b/made").read_text() == "x\n"


async def test_a_call_that_may_not_write_finds_everything_read_only(
    opened: Opener, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "more").mkdir()
    (workspace / "f").write_text("old")
    box = (await opened(Grant(tmp_path / "more", "rw"))).narrowed(frozenset({"read", "exec"}))
    text = await said(box, f"cat f; echo x > f; touch {tmp_path}/more/x; touch /tmp/ok && echo tmp")
    assert text.startswith("old")
    assert text.count("Read-only file system") == 2
    assert "tmp" in text
    assert (workspace / "f").read_text() == "old"


async def test_without_the_exec_effect_nothing_runs(opened: Opener) -> None:
    with pytest.raises(SandboxError, match="may not run commands"):
        await sh((await opened()).narrowed(frozenset({"read"})), "true")


async def test_grants_are_as_wide_as_they_say(opened: Opener, tmp_path: Path) -> None:
    for name in ("ro", "rw", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text(name)
    (tmp_path / "single").write_text("single")
    box = await opened(
        Grant(tmp_path / "ro", "ro"),
        Grant(tmp_path / "rw", "rw"),
        Grant(tmp_path / "single", "ro"),
    )
    text = await said(box, f"cd {tmp_path}; cat ro/f rw/f single other/f; echo n > ro/f; ls -A")
    assert text.startswith("rorwsingle")
    assert "other/f: No such file" in text
    assert "ro/f: Read-only file system" in text
    assert text.split()[-4:] == ["ro", "rw", "single", "ws"]
    assert (await sh(box, f"echo n > {tmp_path}/rw/f")).exit_code == 0
    assert (tmp_path / "rw/f").read_text() == "n\n"


async def test_a_grant_inside_another_keeps_its_own_mode(opened: Opener, workspace: Path) -> None:
    (workspace / "lib/vendored").mkdir(parents=True)
    box = await opened(Grant(workspace / "lib/vendored", "ro"))
    text = await said(box, "touch lib/ok lib/vendored/no; mv lib gone; ls")
    assert "lib/vendored/no': Read-only file system" in text
    assert text.splitlines()[-1] == "lib"
    assert (workspace / "lib/ok").exists()


async def test_paths_of_any_spelling_are_granted(opened: Opener, tmp_path: Path) -> None:
    strange = tmp_path / 'ünï code\nand \'a "line" -- \\end'
    strange.mkdir()
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    box = await opened(Grant(tmp_path / "link", "rw"), at=strange)
    done = await sh(box, f"echo x > made; pwd; echo y > {tmp_path}/link/by-link")
    assert done.stdout.text() == f"{strange}\n"
    assert (strange / "made").read_text() == "x\n"
    assert (tmp_path / "real/by-link").read_text() == "y\n"


async def test_a_workspace_behind_a_link_is_found_by_both_names(
    opened: Opener, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "short").symlink_to(workspace)
    box = await opened(at=tmp_path / "short")
    text = await said(box, f"cd {tmp_path}/short && pwd -P && cd {workspace} && pwd")
    assert text.split() == [str(workspace)] * 2


async def test_a_granted_folder_that_was_replaced_is_not_used(
    opened: Opener, tmp_path: Path
) -> None:
    (tmp_path / "shared").mkdir()
    box = await opened(Grant(tmp_path / "shared", "rw"))
    (tmp_path / "shared").rename(tmp_path / "moved")
    (tmp_path / "shared").symlink_to("/etc")
    with pytest.raises(SandboxError, match="no longer what it was"):
        await sh(box, "true")


async def test_a_grant_that_does_not_exist_is_made_by_nobody(
    opened: Opener, tmp_path: Path
) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    box = await opened(Grant(tmp_path / "gone", "rw"), Grant(tmp_path / "dangling", "rw"))
    assert (await sh(box, "true")).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "ws"]
    assert len([note for note in box.explain().notes if "does not exist" in note]) == 2
