"""`pegboard plugins test`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click

from pegboard.cli import exit_codes
from pegboard.cli.session import Session
from pegboard.contracts.errors import PluginError

_SUITE: Final = '''\
"""The contract that every plugin keeps, for {ids}."""

from pegboard.testing import PluginContract
{classes}'''
_CLASS: Final = """

class Test{name}(PluginContract):
    plugin = {id!r}
"""
_NO_TESTS: Final = 5
"""What pytest returns when it found nothing to run."""


@click.command()
@click.argument("what", metavar="[FOLDER|ID]", default=".")
@click.argument("arguments", metavar="[-- PYTEST ARGUMENTS]", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, what: str, arguments: tuple[str, ...]) -> None:
    """Run a plugin's tests and the contract suites.

    FOLDER holds the plugin's pyproject.toml, and its tests are run too; ID is an installed plugin.
    The plugin must be installed, because that is how it is found: pip install --editable FOLDER
    """
    session: Session = ctx.obj
    if find_spec("pytest") is None:
        raise PluginError("pytest is not installed.", fix="pip install 'pegboard[testing]'")
    folder = Path(what) if Path(what).is_dir() else None
    ids = _ids(session, what if folder is None else folder)
    with TemporaryDirectory(prefix="pegboard-") as temporary:
        paths = [] if folder is None else [str(folder)]
        if folder is None or not _has_suite(folder):
            suite = Path(temporary) / "test_contract_of_pegboard.py"
            suite.write_text(suite_text(ids), encoding="utf-8")
            paths.append(str(suite))
        code = _pytest(session, [*paths, *arguments])
    if code not in (0, _NO_TESTS):
        ctx.exit(exit_codes.FAILED)


def suite_text(ids: Sequence[str]) -> str:
    """Return a test module that holds the contract suite of each plugin."""
    classes = "".join(_CLASS.format(name=_class_name(name), id=name) for name in ids)
    return _SUITE.format(ids=", ".join(ids), classes=classes)


def _has_suite(folder: Path) -> bool:
    """Return whether the project's own tests run the contract suite already."""
    return any("PluginContract" in path.read_text("utf-8") for path in folder.glob("tests/**/*.py"))


def _class_name(plugin_id: str) -> str:
    return "".join(part.capitalize() for part in plugin_id.replace("_", "-").split("-"))


def _ids(session: Session, what: str | Path) -> list[str]:
    from pegboard.plugins.building.build_child import find_targets

    if isinstance(what, str):
        return [session.boot.record(what).id]
    ids = [target.id for target in find_targets(what)]
    installed = {record.id for record in session.boot.records}
    missing = [name for name in ids if name not in installed]
    if missing:
        raise PluginError(
            f"{', '.join(missing)} is not installed, so no host can find it.",
            fix=f"pip install --editable {what}",
        )
    return ids


def _pytest(session: Session, arguments: Sequence[str]) -> int:
    argv = [sys.executable, "-P", "-m", "pytest", "--import-mode=importlib", *arguments]
    return subprocess.run(argv, env=dict(session.env), check=False).returncode
