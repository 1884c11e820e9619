"""Which folders the person trusts: their AGENTS.md and project settings are then read."""

from __future__ import annotations

from pathlib import Path

from pegboard.config.paths import Paths
from pegboard.config.private_file import read_json, write_json


class FolderTrust:
    """Answers given once and remembered, by resolved path.

    An answer holds for exactly one folder: who trusts a folder of projects has not seen what will
    be cloned into it tomorrow.
    """

    def __init__(self, paths: Paths) -> None:
        self.file = paths.state / "trusted-folders.json"

    def known(self, folder: Path) -> bool | None:
        """Return the answer for this folder; None = never asked.

        Raises:
            ConfigError: When the file of answers can't be read.
        """
        return self.all().get(folder.resolve())

    def set(self, folder: Path, trusted: bool) -> None:
        """Remember an answer.

        Raises:
            ConfigError: When the file of answers can't be written.
        """
        self._write({**self.all(), folder.resolve(): trusted})

    def forget(self, folder: Path) -> bool:
        """Forget an answer; False when there was none for exactly this folder."""
        answers = self.all()
        if answers.pop(folder.resolve(), None) is None:
            return False
        self._write(answers)
        return True

    def all(self) -> dict[Path, bool]:
        """Return every answer. What is neither true nor false in the file is no answer."""
        data = read_json(self.file)
        return {Path(name): value for name, value in data.items() if isinstance(value, bool)}

    def _write(self, answers: dict[Path, bool]) -> None:
        write_json(self.file, {str(folder): trusted for folder, trusted in answers.items()})
