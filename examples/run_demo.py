"""Show an agent at work on the files of a folder, with no model, no key and no network.

    python examples/run_demo.py FOLDER

It asks `pegboard ask` two questions about the folder, one in plain words and one that names its
tools; where commands are confined, one of these is a shell. What is printed was read from the files
just now; `check_demo.py` recomputes it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

_PLAIN_NAME: Final = re.compile(r"(?!\.)[\w./ -]+")
_TRIED: Final = 500
_CONFINE: Final = ("bubblewrap", "landlock")


def main(arguments: list[str]) -> int:
    """Run the demo on the folder named; return 0 when every question was answered."""
    folder = Path(arguments[0] if arguments else "examples/demo").resolve()
    if not folder.is_dir():
        print(f"{folder} is not a folder. Try: make demo INPUT=examples/demo", file=sys.stderr)
        return 2
    print(f"An agent reads {shown(folder)}. It has no model, no key and no network, only tools.\n")
    with tempfile.TemporaryDirectory(prefix="pegboard-demo-") as home:
        sandbox, confined = chosen_sandbox(folder, Path(home))
        print(f"{sandbox}\n")
        asked = questions(readable_files(folder), shell=confined)
        codes = [ask(folder, Path(home), text) for text in asked]
    if any(codes):
        return 1
    print(f"Now you: {shown(Path(sys.executable).parent / 'pegboard')} chat")
    return 0


def chosen_sandbox(folder: Path, home: Path) -> tuple[str, bool]:
    """Return what the sandbox of a folder says of itself, and whether it runs commands."""
    ran = subprocess.run(
        [sys.executable, "-m", "pegboard", "sandbox", "explain", "--json"],
        cwd=folder,
        env={**os.environ, "PEGBOARD_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
    )
    report = json.loads(ran.stdout)
    name, first = report["sandbox"], report["notes"][0]
    return f"Its sandbox is {name}. {first}", name in _CONFINE


def questions(files: list[str], *, shell: bool) -> tuple[str, str]:
    """Return what is asked about a folder in which these text files are."""
    plain = 'list the files, then search for "TODO"'
    calls = ["/list_dir depth=10 limit=5000"]
    if files:
        plain += f', then read "{files[0]}"'
        calls.append(f'/file_read path="{files[-1]}" limit=3')
    if shell:
        calls.append('/shell command="hostname; pwd; find . -type f | wc -l"')
    suffixes = Counter(Path(name).suffix for name in files)
    common = suffixes.most_common(1)[0][0] if suffixes else ""
    return plain, "\n".join([*calls, f'/glob_search pattern="**/*{common}" limit=5000'])


def readable_files(folder: Path) -> list[str]:
    """Return text files with plain names, at most two folders deep; a README comes first."""
    paths = sorted(path for pattern in ("*", "[!.]*/*") for path in folder.glob(pattern))
    paths.sort(key=lambda path: not path.name.lower().startswith("readme"))
    names = {path: path.relative_to(folder).as_posix() for path in paths[:_TRIED]}
    return [name for path, name in names.items() if _PLAIN_NAME.fullmatch(name) and is_text(path)]


def is_text(path: Path) -> bool:
    """Return True for a file that is not empty and holds no zero byte near its start."""
    if not path.is_file() or not os.access(path, os.R_OK):
        return False
    with path.open("rb") as file:
        start = file.read(8192)
    return bool(start) and b"\0" not in start


def shown(path: Path) -> str:
    """Return a path as it would be typed here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def ask(folder: Path, home: Path, text: str) -> int:
    """Print a question as it would be typed, and its answer; return the exit code."""
    print(f"$ pegboard ask {shlex.quote(text)}", flush=True)
    command = ["-m", "pegboard", "ask", "--provider", "offline", "--workspace", str(folder), text]
    code = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PEGBOARD_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        check=False,
    ).returncode
    print(flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
