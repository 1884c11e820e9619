"""An image for containers, made of programs of this machine: nothing is pulled."""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from functools import cache
from pathlib import Path

import anyio
from pegboard_sandbox_docker.config import DockerSettings
from pegboard_sandbox_docker.sandbox import DockerBackend

IMAGE = "localhost/pegboard-tests:1"
DIGEST = "pegboard.digest"
"""Label of what the image was made of."""
PYTHON = Path("/usr/bin/python3")
LINKS = ("/bin", "/sbin", "/lib", "/lib64")
FOLDERS = ("dev", "etc", "proc", "run", "sys", "tmp")


def settings(**given) -> DockerSettings:
    """Return settings that work where the tests run: Podman by runc, in whatever cgroups."""
    facts = {"engine": "podman", "image": IMAGE, **given}
    if shutil.which("runc"):
        facts.setdefault("engine_arguments", ["--runtime", "runc", "--cgroup-manager", "cgroupfs"])
    return DockerSettings(**facts)


@cache
def why_not() -> str | None:
    """Return why no container can be run here, or None; makes the image."""
    if shutil.which("podman") is None:
        return "there is no program podman"
    if not PYTHON.exists():
        return f"there is no {PYTHON} to make an image of"
    _make_image()
    return anyio.run(DockerBackend(settings()).probe)


def _make_image() -> None:
    """Make the image unless it is there: others may make it, or use it, at this moment."""
    image = _image()
    digest = hashlib.sha256(image).hexdigest()
    lock = Path(tempfile.gettempdir()) / f"pegboard-image-{os.getuid()}.lock"
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        told = _podman(
            "image", "inspect", "--format", f'{{{{.Id}}}} {{{{index .Labels "{DIGEST}"}}}}', IMAGE
        )
        old, _, made_of = told.partition(" ")
        if made_of == digest:
            return
        _podman("import", "--change", f"LABEL {DIGEST}={digest}", "-", IMAGE, given=image)
        if old:  # it has lost its name, and nobody would remove it
            _podman("rmi", old)


def _podman(*words: str, given: bytes = b"") -> str:
    """Return what Podman says, or "" where it can't."""
    ran = subprocess.run(["podman", *words], input=given, capture_output=True, check=False)
    return ran.stdout.decode().strip() if ran.returncode == 0 else ""


def _image() -> bytes:
    """Return an image with Python, a shell and what they need, taken from this machine."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for folder in FOLDERS:
            made = tarfile.TarInfo(folder)
            made.type, made.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(made)
        for path in sorted(_wanted()):
            tar.add(path, arcname=path.lstrip("/"), recursive=False)
    return held.getvalue()


def _wanted() -> set[str]:
    found = {name for name in LINKS if Path(name).is_symlink()}
    programs = ["sh", "cat", "env", "sleep", "yes", "head", "tr", "setsid", "echo", "true", "pwd"]
    for name in [*programs, "bash", "ls", "id", "mkdir", "rm", "touch", "hostname", PYTHON.name]:
        program = shutil.which(name, path="/usr/bin:/bin")
        if program is not None:
            found |= _with_libraries(program)
    library = Path(f"/usr/lib/{PYTHON.resolve().name}")
    for path in library.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts and "test" not in path.parts:
            found.add(str(path))
            if path.suffix == ".so":
                found |= _with_libraries(str(path))
    return found


def _with_libraries(program: str) -> set[str]:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    names = [program, *(word for line in listed.splitlines() for word in line.split())]
    return {path for name in names if name.startswith("/") for path in _with_links(Path(name))}


def _with_links(path: Path) -> set[str]:
    """Return a file and the links that lead to it; folders that are links are in the image."""
    found = set()
    while True:
        path = path.parent.resolve() / path.name
        found.add(str(path))
        if not path.is_symlink():
            return found
        path = path.parent / path.readlink()
