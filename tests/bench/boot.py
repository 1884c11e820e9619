"""`pegboard plugins list` against importing the two libraries that any such host imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pegboard.testing import make_dist
from pegboard.testing.dists import hello_manifest

TARGETS = {50: 1.5, 200: 2.0}
ROUNDS = 15
TOOLS = 6


def measure(row: Any, peers_python: Any) -> Any:
    for count, target in TARGETS.items():
        with tempfile.TemporaryDirectory() as folder:
            site = Path(folder) / "site"
            plugins(site, count)
            result = row(
                f"plugins list, {count} plugins (CPU)",
                "ms",
                target,
                "python -c 'import click, pluggy'",
            )
            # both sides run from byte code, as an installation does
            environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
            environment |= {
                "PYTHONPATH": str(site),
                "PYTHONPYCACHEPREFIX": str(Path(folder) / "cache"),
                "PEGBOARD_HOME": str(Path(folder) / "home"),
            }
            listing = [sys.executable, "-m", "pegboard", "plugins", "list"]
            reference = [sys.executable, "-c", "import click, pluggy"]
            cpu_ms(listing, environment), cpu_ms(reference, environment)  # warm the byte code
            check(listing, environment)
            for _ in range(ROUNDS):
                result.ours.append(cpu_ms(listing, environment))
                result.reference.append(cpu_ms(reference, environment))
        yield result


def check(listing: list[str], environment: dict[str, str]) -> None:
    """Make sure that what is measured is a list of plugins that work."""
    out = subprocess.run([*listing, "--json"], env=environment, capture_output=True, check=True)
    states = {plugin["state"] for plugin in json.loads(out.stdout)["plugins"]}
    assert states == {"ready"}, states


def plugins(site: Path, count: int) -> None:
    """Write `count` installed plugins with six tools each."""
    for number in range(count):
        name = f"bench-{number:03}"
        tools = [
            {
                "name": f"tool_{number}_{index}",
                "description": "Do one thing to a value.",
                "category": "general",
                "effects": ["read"],
                "parameters": {
                    "type": "object",
                    "properties": {
                        "value": {"type": "string", "description": "The value."},
                        "count": {"type": "integer", "minimum": 1, "default": 10},
                    },
                    "required": ["value"],
                    "additionalProperties": False,
                },
            }
            for index in range(TOOLS)
        ]
        entry = f"{name.replace('-', '_')}.plugin:plugin"
        make_dist(site, name, manifest=hello_manifest(name, entry, tools=tools))


def cpu_ms(argv: list[str], environment: dict[str, str]) -> float:
    """Return the CPU milliseconds of one process, user and system."""
    null = os.open(os.devnull, os.O_RDWR)
    pid = os.posix_spawn(
        argv[0],
        argv,
        environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)],
    )
    os.close(null)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, f"{argv} ended with status {status}"
    return (usage.ru_utime + usage.ru_stime) * 1000
