from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Grant
from pegboard.sandboxes import SandboxFiles

pytestmark = pytest.mark.anyio
Opener = Callable[..., SandboxFiles]
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nxyz\n"


@pytest.fixture
def config(home: Path) -> Path:
    """A folder that holds secrets and may be granted as a whole."""
    folder = home / ".config"
    (folder / "gh").mkdir(parents=True)
    (folder / "gh/hosts.yml").write_text("token")
    (folder / "editor.toml").write_text("ok")
    return folder


async def test_secrets_inside_a_grant_stay_closed_unless_the_grant_names_them(
    config: Path, home: Path, opened: Opener
) -> None:
    wide = opened(Grant(config))
    assert await wide.read(str(config / "editor.toml")) == b"ok"
    for path in (config / "gh/hosts.yml", config / "GH/hosts.yml"):
        with pytest.raises(SandboxError, match="protected and cannot be read: it holds secrets"):
            await wide.read(str(path))
    with pytest.raises(SandboxError, match="cannot be written"):
        await wide.write(str(config / "gh/new"), b"")
    assert not (config / "gh/new").exists()
    found = [item.path async for item in wide.walk(str(config))]
    assert found == [str(config / "editor.toml")]
    named = opened(Grant(config / "gh", "ro"))
    assert await named.read(str(config / "gh/hosts.yml")) == b"token"


async def test_the_refusal_of_a_secret_names_the_grant_that_opens_it(
    config: Path, opened: Opener
) -> None:
    with pytest.raises(SandboxError) as caught:
        await opened(Grant(config)).read(str(config / "gh/hosts.yml"))
    assert caught.value.fix == f"pegboard grant {config}/gh"


async def test_a_secret_file_can_be_granted_by_name(
    home: Path, workspace: Path, opened: Opener
) -> None:
    (home / ".netrc").write_text("machine x")
    files = opened(Grant(home / ".netrc", "ro"))
    assert await files.read(str(home / ".netrc")) == b"machine x"


async def test_pegboards_own_files_are_closed_by_every_way(workspace: Path, opened: Opener) -> None:
    state = workspace / "inner/state"
    state.mkdir(parents=True)
    (state / "secrets.json").write_text("{}")
    (workspace / "link").symlink_to("inner/state")
    files = opened(protected=(state,))
    for path in ("inner/state/secrets.json", "link/secrets.json", "inner/STATE/secrets.json"):
        with pytest.raises(SandboxError, match="belongs to Pegboard itself"):
            await files.read(path)
    with pytest.raises(SandboxError, match="belongs to Pegboard itself"):
        await files.list_dir("inner/state")
    with pytest.raises(SandboxError, match="granted or protected place and stays"):
        await files.rename("inner", "elsewhere")
    assert [item.path async for item in files.walk(".")] == ["link"]
    assert (state / "secrets.json").read_text() == "{}"


async def test_a_protected_folder_under_another_mount_or_name_is_known_by_its_identity(
    workspace: Path, home: Path, opened: Opener
) -> None:
    state = home / "state"
    state.mkdir()
    (state / "f").write_text("x")
    files = opened(protected=(state,))
    (workspace / "inner").mkdir()
    # what a bind mount or a case-insensitive file system does: one folder, two spellings
    state.rename(workspace / "inner/other")
    state.symlink_to(workspace / "inner/other")
    with pytest.raises(SandboxError, match="belongs to Pegboard itself"):
        await files.read("inner/other/f")


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".git/hooks/pre-commit",
        ".GIT/config",
        ".git\u200c/config",
        "GIT~1/config",
        ".git::$INDEX_ALLOCATION/config",
        "\uff0egit/config",
        "sub/.git/config",
        ".gitmodules",
        ".mcp.json",
        ".vscode/tasks.json",
        ".idea/workspace.xml",
        ".envrc",
        "sub/.bashrc",
        ".pegboard/config.toml",
    ],
)
async def test_files_that_decide_what_programs_run_are_not_written(
    path: str, workspace: Path, files: SandboxFiles
) -> None:
    with pytest.raises(SandboxError, match="decides what programs run") as caught:
        await files.write(path, b"evil")
    assert "pegboard grant" in (caught.value.fix or "")
    assert not list(workspace.iterdir())


async def test_such_files_are_read_and_neither_renamed_nor_removed(
    workspace: Path, files: SandboxFiles
) -> None:
    (workspace / ".git").mkdir()
    (workspace / ".git/HEAD").write_text("ref")
    assert await files.read(".git/HEAD") == b"ref"
    await files.write("fake/config", b"evil")
    for work in (
        lambda: files.rename(".git", "g2"),
        lambda: files.rename("fake", ".git2/../.git/hooks"),
        lambda: files.remove(".git/HEAD"),
        lambda: files.make_dir(".git/hooks"),
    ):
        with pytest.raises(SandboxError, match="decides what programs run"):
            await work()
    (workspace / "link").symlink_to(".git/config")
    with pytest.raises(SandboxError, match="decides what programs run"):
        await files.write("link", b"evil")


async def test_a_grant_that_names_such_a_folder_opens_it(workspace: Path, opened: Opener) -> None:
    (workspace / ".vscode").mkdir()
    files = opened(Grant(workspace / ".vscode"))
    await files.write(".vscode/settings.json", b"{}")
    assert (workspace / ".vscode/settings.json").exists()


@pytest.mark.parametrize("name", ["id_rsa", "id_ed25519", "server.pem", "tls.key"])
async def test_a_private_key_is_not_read_and_gets_no_other_name(
    name: str, workspace: Path, files: SandboxFiles
) -> None:
    (workspace / name).write_text(KEY)
    with pytest.raises(SandboxError, match="it is a private key"):
        await files.read(name)
    with pytest.raises(SandboxError, match="it is a private key"):
        await files.rename(name, "notes.txt")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cacert.pem", "-----BEGIN CERTIFICATE-----\n"),
        ("id_map.py", KEY),
        ("id_rsa.pub", "ssh-rsa"),
    ],
)
async def test_what_only_looks_like_a_key_is_read(
    name: str, text: str, workspace: Path, files: SandboxFiles
) -> None:
    (workspace / name).write_text(text)
    assert await files.read(name) == text.encode()
