"""The engine as it answers: programs that say what Docker and Podman say."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from pegboard_sandbox_docker.config import DockerSettings
from pegboard_sandbox_docker.engine import Engine, find_engine, is_alive, this_host
from pegboard_sandbox_docker.sandbox import DockerSandbox

from pegboard import SandboxSpec
from pegboard.sandboxes import Runs, open_confined

pytestmark = pytest.mark.anyio
DOCKER = {"ServerVersion": "28.1", "SecurityOptions": ["name=seccomp,profile=builtin"]}
PODMAN = {"host": {"security": {"rootless": True}}, "version": {"Version": "5.2"}}
GONE = "999999999.1"


def program(folder: Path, name: str, answers: dict[str, tuple[int, str]]) -> Path:
    """Make a program that answers by its first argument, and notes all that it was asked."""
    made = folder / name
    made.write_text(
        f"#!{sys.executable}\nimport json, sys\n"
        f"open({str(folder / 'asked')!r}, 'a').write(json.dumps(sys.argv[1:]) + '\\n')\n"
        f"code, text = {answers!r}.get(sys.argv[1], (1, 'what?'))\n"
        "(sys.stdout if code == 0 else sys.stderr).write(text)\nsys.exit(code)\n"
    )
    made.chmod(0o755)
    return made


def asked(folder: Path) -> list[list[str]]:
    return [json.loads(line) for line in (folder / "asked").read_text().splitlines()]


@pytest.mark.parametrize(
    ("facts", "version", "rootless", "podman"),
    [(DOCKER, "28.1", False, False), (PODMAN, "5.2", True, True)],
)
async def test_an_engine_says_what_it_is(tmp_path, facts, version, rootless, podman) -> None:
    answers = {"info": (0, json.dumps(facts)), "image": (0, "sha256:1")}
    made = program(tmp_path, "engine", answers)
    found = await find_engine(DockerSettings(engine=str(made), image="tools:1"))
    assert isinstance(found, Engine)
    assert (found.version, found.rootless, found.podman) == (version, rootless, podman)
    assert asked(tmp_path)[1][-1] == "tools:1"


@pytest.mark.parametrize(
    ("facts", "limits"),
    [
        (DOCKER, {"memory", "pids"}),
        ({**DOCKER, "MemoryLimit": True, "PidsLimit": False}, {"memory"}),
        (PODMAN, {"memory", "pids"}),
        ({"host": {"cgroupControllers": []}}, set()),
        ({"host": {"cgroupControllers": ["cpu", "pids"]}}, {"pids"}),
    ],
)
async def test_an_engine_says_what_it_can_limit(tmp_path, facts, limits) -> None:
    made = program(tmp_path, "engine", {"info": (0, json.dumps(facts)), "image": (0, "")})
    found = await find_engine(DockerSettings(engine=str(made), image="tools:1"))
    assert isinstance(found, Engine)
    assert found.limits == limits


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ({"runRoot": "/run/user/1000/containers", "graphDriverName": "overlay"}, []),
        ({"runRoot": f"/{49 * 'x'}"}, []),
        ({"runRoot": f"/{50 * 'x'}"}, ["XDG_RUNTIME_DIR"]),
        ({"graphDriverName": "vfs"}, ["fuse-overlayfs"]),
    ],
)
async def test_what_makes_each_command_of_podman_slow_is_said(tmp_path, store, said) -> None:
    facts = {**PODMAN, "store": store}
    made = program(tmp_path, "engine", {"info": (0, json.dumps(facts)), "image": (0, "")})
    found = await find_engine(DockerSettings(engine=str(made), image="tools:1"))
    assert isinstance(found, Engine)
    assert len(found.advice) == len(said)
    assert all(word in advice for word, advice in zip(said, found.advice, strict=True))


@pytest.mark.parametrize(
    ("answers", "image", "said"),
    [
        ({"info": (1, "Cannot connect to the Docker daemon\nmore")}, "a", "Cannot connect"),
        ({"info": (0, "no json")}, "a", "does not answer in JSON"),
        ({"info": (0, '{"ServerErrors": ["no daemon here"]}')}, "a", "no daemon here"),
        ({"info": (0, json.dumps(DOCKER)), "image": (1, "no such image")}, "a:1", "pull a:1"),
        ({"info": (0, json.dumps(DOCKER))}, "", "config set sandboxes.docker.image"),
    ],
)
async def test_what_is_missing_is_said_with_what_mends_it(tmp_path, answers, image, said) -> None:
    made = program(tmp_path, "engine", answers)
    found = await find_engine(DockerSettings(engine=str(made), image=image))
    assert isinstance(found, str) and said in found


async def test_a_network_that_can_not_be_limited_says_so(tmp_path: Path) -> None:
    spec = SandboxSpec(workspace=tmp_path)
    engine = Engine(program="docker", arguments=(), version="28", rootless=False, podman=False)
    said = {}
    for network in ("none", "bridge"):
        settings = DockerSettings(image="x", network=network)
        files, places = await open_confined(spec, durable=False)
        box = DockerSandbox(
            files, spec, engine=engine, settings=settings, places=places, runs=Runs()
        )
        said[network] = " ".join(box.explain().notes)
        await box.aclose()
    assert "No command has any network." in said["none"]
    assert "can't limit it to some hosts" in said["bridge"]


async def test_without_any_engine_both_names_are_told(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    found = await find_engine(DockerSettings(image="a"))
    assert found == "there is no program docker; there is no program podman"


@pytest.mark.parametrize("by_line", [True, False])
async def test_containers_of_hosts_that_are_gone_are_removed(tmp_path, by_line) -> None:
    if by_line:
        rows = [
            {"Names": "old", "Labels": f"other=1,pegboard.host={GONE}"},
            {"Names": "mine", "Labels": f"pegboard.host={this_host()}"},
        ]
        listed = "\n".join(map(json.dumps, rows))
    else:
        listed = json.dumps(
            [
                {"Names": ["old"], "Labels": {"pegboard.host": GONE}},
                {"Names": ["mine"], "Labels": {"pegboard.host": this_host()}},
                {"Names": None, "Labels": None},
            ]
        )
    made = program(tmp_path, "engine", {"ps": (0, listed), "kill": (0, ""), "rm": (0, "")})
    engine = Engine(program=str(made), arguments=(), version="", rootless=False, podman=False)
    await engine.sweep()
    names = [words[-1] for words in asked(tmp_path) if words[0] == "rm"]
    assert names == ["old"]


def test_a_process_of_the_same_number_that_began_later_is_another_one() -> None:
    assert is_alive(this_host())
    assert not is_alive(f"{os.getpid()}.1")
    assert not is_alive(GONE)
    assert is_alive("whose?")
