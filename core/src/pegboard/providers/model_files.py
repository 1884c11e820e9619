"""Model files that were added: a folder with each file, and beside it what it was when added."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from pegboard.config.paths import make_private
from pegboard.contracts.errors import ModelFileError
from pegboard.providers.gguf import GgufFacts, read_gguf

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedModel:
    """A model file that was added.

    Args:
        name: What it is asked for by.
        path: The file.
        sha256: Digest of the file, as it was when added.
        size: Bytes, as they were when added.
        mtime_ns: When the file was written, so that it is only hashed again after a change.
        source: Where it came from.
    """

    name: str
    path: Path
    sha256: str
    size: int
    mtime_ns: int
    source: str


class ModelFiles:
    """The folder of added model files. Nothing in it is half written.

    Args:
        folder: Need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> list[AddedModel]:
        """Return what was added, by name."""
        found = (self.find(path.stem) for path in sorted(self._folder.glob("*.json")))
        return [model for model in found if model is not None]

    def find(self, name: str) -> AddedModel | None:
        """Return an added model, or None."""
        if not _NAME.match(name):
            return None
        try:
            kept = json.loads(self._record(name).read_text("utf-8"))
            return AddedModel(
                name=name,
                path=self._folder / f"{name}.gguf",
                sha256=str(kept["sha256"]),
                size=int(kept["size"]),
                mtime_ns=int(kept["mtime_ns"]),
                source=str(kept["source"]),
            )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelFileError(
                f"{self._record(name)} can't be read: {error}.", fix="pegboard models add ..."
            ) from error

    def checked(self, model: AddedModel) -> Path:
        """Return the file of a model after looking that it is what was added.

        Raises:
            ModelFileError: When it is gone, or other bytes are in it.
        """
        fix = f"pegboard models add {model.source}"
        try:
            now = model.path.stat()
        except OSError:
            raise ModelFileError(
                f"The file of the model {model.name} is gone: {model.path}.", fix=fix
            ) from None
        if (now.st_size, now.st_mtime_ns) == (model.size, model.mtime_ns):
            return model.path
        if now.st_size != model.size or digest(model.path) != model.sha256:
            raise ModelFileError(
                f"The file of the model {model.name} is not what was added: {model.path} has "
                "changed.",
                fix=fix,
            )
        return model.path

    def add(
        self, name: str, write: Callable[[Path], None], *, source: str, sha256: str = ""
    ) -> tuple[AddedModel, GgufFacts]:
        """Add a model file; one of the same name is replaced once the new one is whole.

        Args:
            name: What it is asked for by.
            write: Writes the file to the path that it is given.
            source: Where it comes from, as `models add` takes it.
            sha256: What its digest must be; "" = any.

        Raises:
            ModelFileError: When the name can't be one, or the file is broken or another one.
        """
        if not _NAME.match(name):
            raise ModelFileError(
                f"{name!r} can't be the name of a model: letters, digits, dot, dash, underscore.",
                fix="pegboard models add PATH.gguf --name NAME",
            )
        with self._fresh() as fresh:
            write(fresh)
            facts = read_gguf(fresh)
            found = digest(fresh)
            if sha256 and found != sha256:
                raise ModelFileError(
                    f"{source} holds other weights than it should: sha256 {found}, not {sha256}. "
                    "Nothing was added."
                )
            now = fresh.stat()
            model = AddedModel(
                name=name,
                path=self._folder / f"{name}.gguf",
                sha256=found,
                size=now.st_size,
                mtime_ns=now.st_mtime_ns,
                source=source,
            )
            fresh.replace(model.path)
        self._write_record(model)
        return model, facts

    @contextmanager
    def _fresh(self) -> Iterator[Path]:
        handle, name = tempfile.mkstemp(dir=make_private(self._folder), suffix=".part")
        os.close(handle)
        try:
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)

    def _write_record(self, model: AddedModel) -> None:
        kept: dict[str, Any] = asdict(model)
        del kept["path"], kept["name"]
        with self._fresh() as fresh:
            fresh.write_text(json.dumps(kept, indent=2) + "\n", "utf-8")
            fresh.replace(self._record(model.name))

    def _record(self, name: str) -> Path:
        return self._folder / f"{name}.json"


def digest(file: Path) -> str:
    """Return the sha256 of a file, in hex."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
