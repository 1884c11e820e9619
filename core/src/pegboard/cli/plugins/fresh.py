"""What a new process finds installed: after pip has changed the environment of this one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

from pegboard.cli.session import Session
from pegboard.contracts.errors import PluginError


def fresh_plugins(session: Session, ids: Iterable[str]) -> list[dict[str, Any]]:
    """Return the records of some plugins, as `plugins list --json` of a new process has them.

    A process that is running does not see the paths that an editable install adds.

    Raises:
        PluginError: When the new process fails.
    """
    argv = [sys.executable, "-P", "-m", "pegboard", *(["--safe"] if session.safe else [])]
    for setting in session.settings:
        argv += ["--set", setting]
    done = subprocess.run(
        [*argv, "plugins", "list", "--json"],
        env=dict(session.env),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise PluginError(f"The plugins can't be listed any more: {done.stderr.strip()}")
    wanted = set(ids)
    plugins: list[dict[str, Any]] = json.loads(done.stdout)["plugins"]
    return [record for record in plugins if record["id"] in wanted]
