"""The program that runs containers: found, asked, and told to end one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
from anyio import to_thread

from pegboard_sandbox_docker.arguments import LABEL
from pegboard_sandbox_docker.config import DockerSettings

KNOWN: Final = ("docker", "podman")
LIMITS: Final = frozenset({"memory", "pids"})
ANSWER_S: Final = 20.0
"""Seconds that an engine has for an answer."""
_LONGEST_RUN_ROOT: Final = 50
"""Characters; beyond them Podman's own clean-up refuses, and each `run` waits 20 s for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A container engine that answers.

    Args:
        program: Absolute path of its program.
        arguments: Arguments before every verb.
        version: As it says it.
        rootless: True when its containers have user ids of their own.
        podman: True when it is Podman.
        limits: Which of `memory` and `pids` it can limit.
        advice: What makes each command slow here, and what mends it.
    """

    program: str
    arguments: tuple[str, ...]
    version: str
    rootless: bool
    podman: bool
    limits: frozenset[str] = LIMITS
    advice: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """Name and version, for people."""
        return f"{Path(self.program).name} {self.version}"

    async def ask(self, *words: str) -> Answer:
        """Run one of its verbs to the end."""
        return await _ask(self.program, (*self.arguments, *words))

    async def end(self, name: str) -> None:
        """End a container, whatever state it is in."""
        # first: what `rm` does to one that runs, an engine may do in its own time
        await self.ask("kill", "--signal", "KILL", name)
        await self.ask("rm", "--force", "--volumes", name)

    async def sweep(self) -> None:
        """End the containers of hosts that are gone."""
        found = await self.ask("ps", "--all", "--format", "json", "--filter", f"label={LABEL}")
        for name, host in _listed(found.out):
            if not is_alive(host):
                await self.end(name)


@dataclass(frozen=True, slots=True)
class Answer:
    """How a call of the engine ended."""

    code: int
    out: str
    err: str


async def find_engine(settings: DockerSettings) -> Engine | str:
    """Return an engine that works here with the image, or why there is none."""
    if not hasattr(os, "mkfifo"):
        return "it needs Linux, macOS or WSL"
    names = (settings.engine,) if settings.engine else KNOWN
    reasons = []
    for name in names:
        program = shutil.which(name)
        if program is None:
            reasons.append(f"there is no program {name}")
            continue
        found = await _look(program, tuple(settings.engine_arguments))
        if isinstance(found, str):
            reasons.append(f"{name} does not answer: {found}")
            continue
        missing = await _missing_image(found, settings.image)
        return missing or found
    return "; ".join(reasons)


def this_host() -> str:
    """Return the label of what this process starts: its number, and when it began."""
    return f"{os.getpid()}.{_began(os.getpid())}"


def is_alive(host: str) -> bool:
    """Tell whether the process of a label still runs; one that can't be read does."""
    number, _, began = host.partition(".")
    if not number.isdecimal():
        return True
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return _began(int(number)) == began


def _began(number: int) -> str:
    """Return when a process began, in ticks of its system; "" where that can't be read."""
    try:
        text = Path(f"/proc/{number}/stat").read_text("latin-1")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]


async def _look(program: str, arguments: tuple[str, ...]) -> Engine | str:
    answer = await _ask(program, (*arguments, "info", "--format", "{{json .}}"))
    if answer.code != 0:
        return _first_line(answer.err) or f"it ended with {answer.code}"
    try:
        facts = json.loads(answer.out)
    except ValueError:
        return "it does not answer in JSON"
    if "host" in facts:
        host = facts["host"]
        security = host.get("security") or {}
        # without root, and in control groups of the first kind, it has none: it then says at
        # each command, on the command's own standard error, that it leaves the limits out
        controls = host.get("cgroupControllers")
        return Engine(
            program=program,
            arguments=arguments,
            version=str((facts.get("version") or {}).get("Version", "")),
            rootless=bool(security.get("rootless")),
            podman=True,
            limits=LIMITS if controls is None else LIMITS.intersection(controls),
            advice=tuple(_podman_advice(facts.get("store") or {})),
        )
    problems = facts.get("ServerErrors")
    if problems:
        return _first_line(str(problems[0]))
    return Engine(
        program=program,
        arguments=arguments,
        version=str(facts.get("ServerVersion", "")),
        rootless=any("rootless" in str(item) for item in facts.get("SecurityOptions") or ()),
        podman=False,
        limits=frozenset(
            limit
            for limit, fact in (("memory", "MemoryLimit"), ("pids", "PidsLimit"))
            if facts.get(fact) is not False
        ),
    )


def _podman_advice(store: dict[str, Any]) -> Iterator[str]:
    run_root = str(store.get("runRoot", ""))
    if len(run_root) > _LONGEST_RUN_ROOT:
        yield (
            f"Each command takes 20 seconds longer: the path of Podman's folder {run_root} has "
            f"more than {_LONGEST_RUN_ROOT} characters. Set XDG_RUNTIME_DIR to a folder of yours "
            "with a short path, then: podman system reset (it removes images)"
        )
    if store.get("graphDriverName") == "vfs":
        yield (
            "Podman copies the whole image for each command, for it stores images with vfs: "
            'install fuse-overlayfs, or write driver = "overlay" below [storage] in '
            "~/.config/containers/storage.conf, then: podman system reset (it removes images)"
        )


async def _missing_image(engine: Engine, image: str) -> str | None:
    name = Path(engine.program).name
    if not image:
        return (
            "no image is chosen: pegboard config set sandboxes.docker.image NAME (it is not pulled)"
        )
    answer = await engine.ask("image", "inspect", "--format", "{{.Id}}", image)
    if answer.code == 0:
        return None
    return f"{name} has no image {image}: {name} pull {image}"


async def _ask(program: str, words: Sequence[str]) -> Answer:
    run = partial(
        subprocess.run,
        [program, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=ANSWER_S,
        check=False,
        start_new_session=True,
    )
    try:
        with anyio.CancelScope(shield=True):
            done = await to_thread.run_sync(run)
    except subprocess.TimeoutExpired:
        return Answer(-1, "", f"no answer within {ANSWER_S:g} s")
    except OSError as error:
        return Answer(-1, "", error.strerror or str(error))
    return Answer(done.returncode, done.stdout, done.stderr)


def _listed(text: str) -> list[tuple[str, str]]:
    """Return name and label of each container: Podman lists them as one array, Docker by line."""
    try:
        rows = json.loads(text) if text.lstrip().startswith("[") else _lines(text)
    except ValueError:
        return []
    return [found for row in rows if (found := _facts(row)) is not None]


def _lines(text: str) -> list[object]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _facts(row: object) -> tuple[str, str] | None:
    if not isinstance(row, dict):
        return None
    names, labels = row.get("Names"), row.get("Labels")
    name = names[0] if isinstance(names, list) and names else names
    if isinstance(labels, str):
        labels = dict(item.partition("=")[::2] for item in labels.split(","))
    host = labels.get(LABEL) if isinstance(labels, dict) else None
    return (name, host) if isinstance(name, str) and isinstance(host, str) else None


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
