"""Fetching and pulling from real servers on loopback: over http, and through ssh."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytestmark = pytest.mark.anyio

TOKEN = "user:s3cret-token"
PACK = b"0008NAK\n0025\x01PACK\0\0\0\2\0\0\0\1 no objects at all!"
"""What looks like a pack from outside."""


class GitServer(ThreadingHTTPServer):
    """Serves the repositories below one folder through `git http-backend`."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.root = root
        self.asked: list[str] = []
        self.locked = False
        self.offers = b""

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: GitServer

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers.get("content-length", "0"))))

    def answer(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        self.server.asked.append(f"{self.command} {path}")
        known = f"Basic {base64.b64encode(TOKEN.encode()).decode()}"
        if self.server.locked and self.headers.get("authorization") != known:
            self.send_error(401)
            return
        if path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("location", f"http://127.0.0.2:9/{path}?{query}")
            self.end_headers()
            return
        if self.server.offers:
            self.send_response(200)
            kind = "advertisement" if self.command == "GET" else "result"
            self.send_header("content-type", f"application/x-git-upload-pack-{kind}")
            self.end_headers()
            self.wfile.write(self.server.offers if self.command == "GET" else PACK)
            return
        done = subprocess.run(
            ["git", "http-backend"],
            input=body,
            env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(self.server.root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_GLOBAL": "/dev/null",
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("content-type", ""),
                "CONTENT_LENGTH": str(len(body)),
            },
            capture_output=True,
            check=False,
        )
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    served = GitServer(tmp_path / "served")
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield served
    served.shutdown()
    served.server_close()
    thread.join()


@pytest.fixture
def theirs(tmp_path: Path, repository) -> Path:
    return repository(tmp_path / "served/project")


def empty(host, git, url: str, remote: str = "origin") -> None:
    git(host.workspace, "init", "-q")
    git(host.workspace, "remote", "add", remote, url)


def commit(git, folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", f"Changes {name}")


@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock", "local"])
async def test_a_pull_brings_what_is_new(host, opened, git, server, theirs, sandbox) -> None:
    empty(host, git, f"http://{server.target}/project")
    git(theirs, "tag", "-am", "One", "v1")
    async with opened(sandbox, allow_private=[server.target]) as bench:
        first = await bench.write("pull")
        assert "v1" in first.text and "main: new" in first.text
        assert bench.git("log", "--format=%s") == "Second\nFirst"
        assert bench.git("tag", "-l") == "v1"
        again = await bench.write("fetch")
        assert "Nothing new" in again.text and again.structured["received_bytes"] == 0
        commit(git, theirs, "new.txt", "new\n")
        git(theirs, "branch", "side")
        size = (await bench.write("pull")).structured["received_bytes"]
        assert 0 < size < 1000, "only what is missing comes"
        assert (bench.folder / "new.txt").exists()
        assert bench.git("branch", "-r").split() == ["origin/main"]
        assert "side: new" in (await bench.write("fetch")).text
        bench.git("fsck", "--strict", "--connectivity-only")
        assert not any("receive-pack" in line for line in server.asked)


async def test_both_sides_are_joined_as_is_asked(host, opened, git, server, theirs) -> None:
    empty(host, git, f"http://{server.target}/project")
    async with opened(allow_private=[server.target]) as bench:
        await bench.write("pull")
        commit(git, theirs, "theirs.txt", "x\n")
        commit(git, bench.folder, "ours.txt", "x\n")
        assert (await bench.error("git_write", "pull")).code == "diverged"
        await bench.write("pull", strategy="rebase")
        assert bench.git("log", "-1", "--format=%s") == "Changes ours.txt"
        commit(git, theirs, "a.txt", "theirs\n")
        commit(git, bench.folder, "a.txt", "ours\n")
        error = await bench.error("git_write", "pull", strategy="merge")
        assert error.code == "conflict"
        await bench.write("merge_abort")
        gone = await bench.error("git_write", "fetch", branch="gone")
        assert gone.code == "unknown_revision"


async def test_credentials_stay_with_the_host(host, opened, git, server, theirs) -> None:
    empty(host, git, f"http://{server.target}/project")
    server.locked = True
    async with opened(allow_private=[server.target]) as bench:
        error = await bench.error("git_write", "fetch")
        assert error.code == "auth_failed" and "git_credentials" in error.fix
    secrets = {"git_credentials": f"https://x:y@other.org\nhttp://{TOKEN}@{server.target}"}
    async with opened(allow_private=[server.target], secrets=secrets) as bench:
        result = await bench.write("fetch")
        assert "main: new" in result.text
        for place in bench.folder.rglob("*"):
            if place.is_file():
                assert b"s3cret" not in place.read_bytes()


REFUSED = (
    "ext::sh -c touch% evil",
    "fd::3",
    "file:///etc",
    "/srv/other",
    "../other",
    "git://example.org/x",
    "ftp://example.org/x",
    "http://example.org/x",
    "https://127.0.0.1/x",
    "https://localhost/x",
    "https://169.254.169.254/latest",
    "https://example.org/a b",
    "ssh://-oProxyCommand=evil/x",
    "ssh://example.org/x",
    "git@example.org:x.git",
    "ssh://example.org/$(evil)",
    "-x:y",
)


async def test_other_remotes_are_not_asked(host, opened, git) -> None:
    git(host.workspace, "init", "-q")
    async with opened("local") as bench:
        for url in REFUSED:
            bench.git("config", "remote.origin.url", url)
            error = await bench.error("git_write", "fetch")
            assert error.code == "remote_refused", (url, error)
        assert not list(bench.folder.rglob("evil"))


async def test_only_the_hosts_that_the_operator_names_are_asked(host, opened, git) -> None:
    empty(host, git, "https://example.org/x.git")
    async with opened("local", allow_hosts=["*.example.net"]) as bench:
        error = await bench.error("git_write", "fetch")
        assert error.code == "remote_refused" and "allow_hosts" in error.fix
        assert (await bench.error("git_write", "fetch", remote="x")).code == "unknown_remote"


async def test_a_redirect_to_another_host_is_not_followed(host, opened, git, server) -> None:
    empty(host, git, f"http://{server.target}/moved/project")
    async with opened("local", allow_private=[server.target, "127.0.0.2:9"]) as bench:
        error = await bench.error("git_write", "fetch")
        assert error.code == "remote_refused" and "not among the hosts" in error.message


async def test_what_is_no_server_of_git_is_told(host, opened, git, server, theirs) -> None:
    empty(host, git, f"http://{server.target}/project/.git/description")
    async with opened("local", allow_private=[server.target]) as bench:
        assert (await bench.error("git_write", "fetch")).code in ("unreachable", "auth_failed")


async def test_ssh_runs_on_the_host_with_one_command(
    host, opened, git, theirs, tmp_path, monkeypatch
) -> None:
    """The program that stands for ssh runs the command that a server would run."""
    said = tmp_path / "said"
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "ssh").write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {said}\nfor last in "$@"; do :; done\n'
        'case "$last" in *gone*) echo "Permission denied (publickey)." >&2; exit 255;; esac\n'
        'exec sh -c "$last"\n'
    )
    (programs / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    empty(host, git, f"ssh://git@code.example.org:2222{theirs}")
    async with opened(ssh_hosts=["code.example.org"]) as bench:
        await bench.write("pull")
        assert bench.git("log", "--format=%s") == "Second\nFirst"
        assert "Nothing new" in (await bench.write("fetch")).text
        words = said.read_text().splitlines()
        assert words[-4:-1] == ["git", "--", "code.example.org"]
        assert words[-1] == f"git-upload-pack {theirs}"
        assert "BatchMode=yes" in words and "2222" in words
        url = f"ssh://git@code.example.org:2222{theirs}"
        await bench.write("clone", url=url, repo="copy")
        assert git(bench.folder / "copy", "status", "--porcelain") == ""
        bench.git("remote", "set-url", "origin", "git@code.example.org:gone")
        assert (await bench.error("git_write", "fetch")).code == "auth_failed"


async def test_ssh_that_ends_before_it_is_asked_is_told(host, opened, git, tmp_path, monkeypatch):
    line = f"{'1' * 40} refs/heads/main\\0side-band-64k\\n"
    (tmp_path / "ssh").write_text(
        "#!/usr/bin/env python3\nimport os, time\nos.close(0)\n"
        f"line = b'{line}'\nos.write(1, b'%04x%s0000' % (len(line) + 4, line))\n"
        "os.write(2, b'Connection lost')\ntime.sleep(1)\n"
    )
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    empty(host, git, "ssh://git@code.example.org/x")
    async with opened("local", ssh_hosts=["code.example.org"]) as bench:
        error = await bench.error("git_write", "fetch")
        assert error.code == "unreachable" and "Connection lost" in error.message


async def test_a_server_does_not_choose_names_outside_its_own(
    host, opened, git, server, repository
) -> None:
    repository(host.workspace)
    git(host.workspace, "remote", "add", "origin", f"http://{server.target}/x")
    here = git(host.workspace, "rev-parse", "HEAD")
    async with opened(allow_private=[server.target]) as bench:
        before = bench.git("for-each-ref")
        for name in ("../../evil", "a b", "x.lock", "-x~"):
            line = f"{here} refs/heads/{name}\0side-band-64k\n".encode()
            server.offers = b"%04x%s0000" % (len(line) + 4, line)
            await bench.error("git_write", "fetch")
            assert bench.git("for-each-ref") == before


async def test_a_fetch_moves_no_branch_of_ones_own(host, opened, git, server, theirs) -> None:
    """A name of the remote may be a link, in a repository that somebody has prepared."""
    empty(host, git, f"http://{server.target}/project")
    (host.workspace / "mine.txt").write_text("mine\n")
    git(host.workspace, "add", ".")
    git(host.workspace, "commit", "-qm", "Mine")
    mine = git(host.workspace, "rev-parse", "main")
    git(host.workspace, "symbolic-ref", "refs/remotes/origin/main", "refs/heads/main")
    async with opened(allow_private=[server.target]) as bench:
        await bench.write("fetch")
        assert bench.git("rev-parse", "main") == mine
        assert bench.git("rev-parse", "origin/main") == git(theirs, "rev-parse", "main")


async def test_a_clone_replaces_no_branch_that_is_there(opened, git, server, theirs) -> None:
    url = f"http://{server.target}/project"
    async with opened(allow_private=[server.target]) as bench:
        await bench.write("clone", url=url, repo="x")
        folder = bench.folder / "x"
        commit(git, folder, "mine.txt", "mine\n")
        mine = git(folder, "rev-parse", "main")
        git(folder, "checkout", "-q", "--orphan", "empty")
        git(folder, "rm", "-rqf", ".")
        await bench.error("git_write", "clone", url=url, repo="x")
        assert git(folder, "rev-parse", "main") == mine


async def test_what_is_no_pack_is_not_taken_in(host, opened, git, server, repository) -> None:
    repository(host.workspace)
    git(host.workspace, "remote", "add", "origin", f"http://{server.target}/x")
    line = f"{'1' * 40} refs/heads/main\0side-band-64k\n".encode()
    server.offers = b"%04x%s0000" % (len(line) + 4, line)
    async with opened(allow_private=[server.target]) as bench:
        await bench.error("git_write", "fetch")
        assert not bench.git("branch", "-r")


@pytest.mark.parametrize("sandbox", ["bubblewrap", "local"])
async def test_a_clone_is_made_used_and_pulled(opened, git, server, theirs, sandbox) -> None:
    git(theirs, "branch", "-m", "trunk")
    git(theirs, "branch", "side", "HEAD~1")
    url = f"http://{server.target}/project"
    async with opened(sandbox, allow_private=[server.target]) as bench:
        made = await bench.write("clone", url=url, repo="copies/project")
        assert "branch trunk" in made.text and "sandbox:" not in made.text
        folder = bench.folder / "copies/project"
        assert (folder / "a.txt").read_text() == "one\ntwo\n"
        assert git(folder, "status", "--porcelain") == ""
        assert git(folder, "remote", "get-url", "origin") == url
        assert git(folder, "branch", "-r", "--format=%(refname:short)").split() == [
            "origin/side",
            "origin/trunk",
        ]
        commit(git, theirs, "new.txt", "new\n")
        await bench.write("pull", repo="copies/project")
        assert (folder / "new.txt").exists()
        side = await bench.write("clone", url=url, repo="side", branch="side")
        assert side.structured["branch"] == "side"
        error = await bench.error("git_write", "clone", url=url, repo="side")
        assert error.code == "exists"


async def test_a_clone_of_nothing_and_one_that_failed_are_gone_on_with(
    opened, git, server, tmp_path
) -> None:
    (tmp_path / "served/empty").mkdir(parents=True)
    git(tmp_path / "served/empty", "init", "-q", "--bare", "--object-format=sha256")
    url = f"http://{server.target}/empty"
    async with opened(allow_private=[server.target]) as bench:
        for _ in range(2):
            made = await bench.write("clone", url=url, repo="x")
            assert "no commits yet" in made.text


async def test_a_clone_asks_only_servers_that_may_be_asked(opened, server, tmp_path) -> None:
    async with opened(allow_hosts=["example.org"]) as bench:
        for url, code in (
            ("ext::sh -c id", "remote_refused"),
            (str(tmp_path), "remote_refused"),
            ("file:///etc", "remote_refused"),
            ("git://example.org/x", "remote_refused"),
            ("--upload-pack=id", "remote_refused"),
            (f"http://{server.target}/project", "remote_refused"),
            ("https://user:token@example.org/x", "remote_refused"),
            ("https://elsewhere.test/x", "remote_refused"),
            ("git@github.com:x/y.git", "remote_refused"),
        ):
            error = await bench.error("git_write", "clone", url=url, repo="new")
            assert error.code == code, (url, error)
        assert not (bench.folder / "new").exists()
        for arguments in ({"url": "https://example.org/x"}, {"repo": "new"}):
            error = await bench.error("git_write", "clone", **arguments)
            assert error.code == "invalid_arguments"
    assert not server.asked
