"""Who is trusted, who is let in, and what is left when the connection is gone."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from counterparts.ssh_server import SshServer, ssh_server
from pegboard_sandbox_ssh.config import RemoteGrant, SshSettings
from pegboard_sandbox_ssh.sandbox import SshBackend

from pegboard import Command, SandboxError, SandboxSpec

pytestmark = pytest.mark.anyio
PATIENCE_S = 30.0
HOST = """
import sys
from pathlib import Path

import anyio
from pegboard_sandbox_ssh.config import SshSettings
from pegboard_sandbox_ssh.sandbox import SshBackend

from pegboard import Command, SandboxSpec


async def main():
    settings = SshSettings.model_validate_json(sys.argv[2])
    sandbox = await SshBackend(settings).open(SandboxSpec(workspace=Path(sys.argv[1])))
    source = "trap '' TERM HUP; while :; do echo x >> beat; sleep 0.05; done"
    await sandbox.run(Command(argv=("sh", "-c", source)))


anyio.run(main)
"""


@pytest.fixture
def server() -> SshServer:
    return ssh_server()


def settings(server: SshServer, **given) -> SshSettings:
    facts = {
        "host": "127.0.0.1",
        "port": server.port,
        "user": server.user,
        "identities": [str(server.identity)],
        "known_hosts": str(server.known_hosts),
    }
    return SshSettings(**{**facts, **given})


async def test_without_a_host_it_says_how_to_name_one() -> None:
    assert "sandboxes.ssh.host" in (await SshBackend().probe() or "")


@pytest.mark.parametrize("known", ["empty", "absent"])
async def test_a_machine_that_is_not_known_is_refused(server, tmp_path, known) -> None:
    file = tmp_path / "known_hosts"
    if known == "empty":
        file.touch()
    with pytest.raises(SandboxError, match=r"the key of 127\.0\.0\.1 is not in") as caught:
        await SshBackend(settings(server, known_hosts=str(file))).open(
            SandboxSpec(workspace=tmp_path)
        )
    assert f"ssh-keyscan -p {server.port}" in (caught.value.fix or "")


async def test_somebody_without_a_key_is_told_how_to_get_in(server, tmp_path) -> None:
    other = tmp_path / "other"
    made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)]
    subprocess.run(made, check=True)
    said = await SshBackend(settings(server, identities=[str(other)])).probe()
    assert said is not None
    assert "does not let us in" in said and "ssh-copy-id" in said


async def test_a_machine_that_does_not_answer_is_told(server) -> None:
    said = await SshBackend(settings(server, port=1, connect_timeout_s=2)).probe()
    assert said is not None and "can't be reached" in said


async def test_the_workspace_there_may_have_another_path(server, tmp_path) -> None:
    there, shared = tmp_path / "there", tmp_path / "shared"
    there.mkdir()
    shared.mkdir()
    (shared / "notes").write_text("read me")
    given = settings(server, workspace=str(there), grants=[RemoteGrant(path=str(shared))])
    sandbox = await SshBackend(given).open(SandboxSpec(workspace=Path("/nowhere/here")))
    try:
        await sandbox.write("a/made", b"x")
        assert (there / "a/made").read_bytes() == b"x"
        assert await sandbox.read(str(shared / "notes")) == b"read me"
        with pytest.raises(SandboxError, match="only to be read") as caught:
            await sandbox.write(str(shared / "notes"), b"y")
        assert "[sandboxes.ssh]" in (caught.value.fix or "")
        done = await sandbox.run(Command(argv=("pwd",)))
        assert done.stdout.text() == f"{there}\n"
    finally:
        await sandbox.aclose()


async def test_secrets_of_the_home_folder_there_are_closed(server, tmp_path) -> None:
    key = tmp_path / "id_ed25519"
    key.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    (tmp_path / ".git").mkdir()
    sandbox = await SshBackend(settings(server)).open(SandboxSpec(workspace=tmp_path))
    try:
        for path in ("~/.ssh/authorized_keys", "id_ed25519"):
            with pytest.raises(SandboxError):
                await sandbox.read(path)
        with pytest.raises(SandboxError):
            await sandbox.rename("id_ed25519", "harmless.txt")
        with pytest.raises(SandboxError):
            await sandbox.write(".git/config", b"x")
        assert key.exists()
    finally:
        await sandbox.aclose()


async def test_a_lost_connection_is_said_and_does_not_hang(server, tmp_path) -> None:
    sandbox = await SshBackend(settings(server)).open(SandboxSpec(workspace=tmp_path))
    try:
        sandbox.connection._ssh.abort()
        with pytest.raises(SandboxError, match="is lost"):
            await sandbox.read("anything")
        with pytest.raises(SandboxError, match="is lost"):
            await sandbox.run(Command(argv=("true",)))
    finally:
        await sandbox.aclose()


def test_what_runs_there_ends_with_a_killed_host(server, tmp_path) -> None:
    given = settings(server).model_dump_json()
    host = subprocess.Popen([sys.executable, "-c", HOST, str(tmp_path), given])
    beat = tmp_path / "beat"
    end = time.monotonic() + PATIENCE_S
    while not beat.exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    host.send_signal(signal.SIGKILL)
    host.wait()
    while True:
        size = beat.stat().st_size
        time.sleep(0.4)
        if beat.stat().st_size == size:
            return
        assert time.monotonic() < end, "it goes on"
