"""Try every attack in every sandbox of this repository; print one JSON object.

python tests/counterparts/attack_figures.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio
from container_image import settings, why_not
from pegboard_sandbox_bubblewrap.config import BubblewrapSettings
from pegboard_sandbox_bubblewrap.landlock_sandbox import LandlockBackend
from pegboard_sandbox_bubblewrap.sandbox import BubblewrapBackend
from pegboard_sandbox_docker.sandbox import DockerBackend
from pegboard_sandbox_local.sandbox import LocalBackend

from pegboard import SandboxBackend, SandboxSpec
from pegboard.testing.contracts.sandbox_probes import Probed, probe, python_grants

BACKENDS: dict[str, SandboxBackend] = {
    "bubblewrap": BubblewrapBackend(),
    "bubblewrap, strict": BubblewrapBackend(BubblewrapSettings(mode="strict")),
    "bubblewrap, open": BubblewrapBackend(BubblewrapSettings(mode="open")),
    "landlock": LandlockBackend(),
    "local, shell allowed": LocalBackend(allow_unconfined_shell=True),
}


async def figures(folder: Path, backends: dict[str, SandboxBackend]) -> dict[str, Probed]:
    found = {}
    for number, (name, backend) in enumerate(backends.items()):
        own = folder / str(number)
        (own / "ws").mkdir(parents=True)
        spec = SandboxSpec(workspace=own / "ws", grants=python_grants())
        sandbox = await backend.open(spec)
        found[name] = await probe(sandbox, own)
        await sandbox.aclose()
    return found


if __name__ == "__main__":
    if why_not() is None:
        BACKENDS["docker (podman)"] = DockerBackend(settings())
    tried = anyio.run(figures, Path(sys.argv[1]), BACKENDS)
    print(json.dumps({name: dict(probed.ended) for name, probed in tried.items()}))
