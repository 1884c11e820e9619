"""Make the project of a new plugin from the template that core brings along."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pegboard.contracts.errors import PegboardError, UsageError

KINDS: Final = (
    "tool",
    "provider",
    "channel",
    "sandbox",
    "skill_source",
    "backend",
    "command",
    "hooks",
)
ANSWERS_FILE: Final = ".copier-answers.yml"
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST_NAME: Final = 40


def render(
    kind: str, name: str, folder: Path, answers: Mapping[str, str | bool] | None = None
) -> tuple[Path, ...]:
    """Write a project that installs, and whose tests pass, as it is.

    Args:
        kind: One of `KINDS`.
        name: Id of the plugin; the distribution is named `pegboard-<name>`.
        folder: Where the project goes; made when missing.
        answers: Further answers to the template's questions (`summary`, `author`, `ci`).

    Returns:
        The files written, sorted, below `folder`.

    Raises:
        UsageError: When an answer is not possible, or `folder` holds something already.
        PegboardError: When copier is not installed, or the template can't be found.
    """
    _check(kind, name, folder)
    with _template() as source:
        _copy(source, folder, {**(answers or {}), "name": name, "kind": kind})
    _forget_source(folder / ANSWERS_FILE)
    return tuple(sorted(path for path in folder.rglob("*") if path.is_file()))


def _check(kind: str, name: str, folder: Path) -> None:
    from pegboard.config.core_schema import CORE, RESERVED
    from pegboard.plugins.discovery.first_party import FIRST_PARTY

    if kind not in KINDS:
        raise UsageError(f"There is no kind {kind!r}.", fix=f"Use one of: {', '.join(KINDS)}")
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise UsageError(
            f"{name!r} can't be the id of a plugin: small letters, digits and single hyphens, "
            f"a letter first, at most {_LONGEST_NAME} characters.",
            fix=f"pegboard plugins new {_possible(name)} --kind {kind}",
        )
    if name in FIRST_PARTY or name in RESERVED or name == CORE:
        raise UsageError(
            f"{name!r} is an id that Pegboard keeps for itself.",
            fix=f"pegboard plugins new my-{name} --kind {kind}",
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"{folder} holds something already; nothing was written.",
            fix="Choose another folder with --directory.",
        )


def _possible(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-").removeprefix("pegboard-")
    return plain.lstrip("0123456789-")[:_LONGEST_NAME].strip("-") or "my-plugin"


def _copy(source: Path, folder: Path, data: Mapping[str, str | bool]) -> None:
    try:
        from copier import run_copy
        from copier.errors import CopierError
    except ImportError as error:
        raise PegboardError(
            "Making a project needs copier, which is not installed.",
            fix="pip install 'pegboard[new]'",
        ) from error
    try:
        run_copy(str(source), folder, data=dict(data), defaults=True, quiet=True)
    except (CopierError, ValueError) as error:
        raise UsageError(f"The template refused an answer: {error}") from error


@contextmanager
def _template() -> Iterator[Path]:
    """Give a folder with `copier.yml` and the template.

    An installed core brings a copy. A checkout is copied first: copier would clone a git repository
    at its last tag instead of taking the files as they are.
    """
    import shutil
    import tempfile

    package = Path(__file__).parent
    bundled, checkout = package / "_template", package.parents[2]
    if (bundled / "copier.yml").is_file():
        yield bundled
    elif (checkout / "copier.yml").is_file() and (checkout / "plugin-template").is_dir():
        with tempfile.TemporaryDirectory(prefix="pegboard-template-") as name:
            copy = Path(name)
            shutil.copy(checkout / "copier.yml", copy)
            shutil.copytree(checkout / "plugin-template", copy / "plugin-template")
            yield copy
    else:
        raise PegboardError(
            "The template is missing from this installation of pegboard.",
            fix="pip install --force-reinstall pegboard",
        )


def _forget_source(answers: Path) -> None:
    """Drop where the template was: a path of this machine says nothing on another one."""
    lines = answers.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(("_src_path:", "_commit:"))]
    answers.write_text("".join(kept), encoding="utf-8")
