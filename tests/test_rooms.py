"""The rooms of the core keep to their arrows, and its files to the house's measures."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCES = sorted(
    path
    for pattern in ("core/src/**/*.py", "plugins/*/src/**/*.py")
    for path in REPOSITORY.glob(pattern)
    if "_template" not in path.parts
)


def test_rooms_import_only_what_is_below_them() -> None:
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command()",
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_page_for_developers_knows_every_room() -> None:
    page = (REPOSITORY / "docs" / "how-to" / "develop.md").read_text("utf-8")
    core = REPOSITORY / "core" / "src" / "pegboard"
    rooms = {path.parent.name for path in core.glob("*/__init__.py")} - {"_template"}
    (arrows,) = re.findall(r"`(cli, [^`]+ contracts)`", page)
    assert set(re.findall(r"\w+", arrows)) == rooms
    rows = re.findall(r"^\| `(\w+)` \|.*\| `([\w/.]+)` \|$", page, re.M)
    assert {room for room, _ in rows} == rooms
    named = {core / room / file for room, file in rows}
    way = page.partition("One message on its way")[2]
    named |= {core / file for file in re.findall(r"`(\w+/\w+\.py)`", way)}
    assert [path for path in named if not path.is_file()] == []


def test_no_module_is_a_dumping_ground() -> None:
    names = {"utils", "util", "helpers", "helper", "common", "misc", "stuff"}
    assert [path for path in SOURCES if path.stem.strip("_") in names] == []


def test_modules_stay_short() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in SOURCES}
    assert statistics.median(lengths.values()) <= 150
    assert {path.name: count for path, count in lengths.items() if count > 450} == {}


def test_the_core_brings_no_tool_provider_channel_or_sandbox() -> None:
    pyproject = (REPOSITORY / "core" / "pyproject.toml").read_text("utf-8")
    assert "pegboard.plugins" not in pyproject


def test_one_module_of_all_providers_imports_an_http_client_and_none_a_vendors() -> None:
    clients = re.compile(r"^\s*(?:from|import) (httpx2?|openai|anthropic|google|aiohttp)\b", re.M)
    found = {
        path.relative_to(REPOSITORY / "plugins").as_posix(): set(clients.findall(text))
        for path in SOURCES
        if "provider-" in str(path) and clients.search(text := path.read_text("utf-8"))
    }
    assert found == {"provider-http/src/pegboard_provider_http/http.py": {"httpx"}}


def test_plugins_import_only_public_names() -> None:
    wrong = []
    for path in REPOSITORY.glob("plugins/*/src/**/*.py"):
        for line in path.read_text("utf-8").splitlines():
            found = re.match(r"\s*(?:from|import) (pegboard(?:\.\w+)+)", line)
            if found and found[1] not in PUBLIC_MODULES:
                wrong.append(f"{path.name}: {line.strip()}")
    assert wrong == []


PUBLIC_MODULES = {"pegboard.providers", "pegboard.sandboxes", "pegboard.testing"}
"""What plugins may import beside `pegboard`: what authors of one kind share, and the kit."""
