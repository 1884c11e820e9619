"""Folders that a sandbox opens, of names that were found without it."""

from __future__ import annotations

from pegboard import Sandbox, SandboxError


class OpenFolders:
    """Tells of names found without the sandbox whether it lets one look into their folder."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._known: dict[str, bool] = {}

    def holds(self, path: str) -> bool:
        """Return whether the folder of a path is open."""
        return self.is_open(path.rpartition("/")[0] or ("/" if path.startswith("/") else "."))

    def is_open(self, folder: str) -> bool:
        """Return whether a folder, as it is shown, is open."""
        known = self._known.get(folder)
        if known is None:
            known = self._known[folder] = self._looked_at(folder)
        return known

    def _looked_at(self, folder: str) -> bool:
        try:
            return self._sandbox.display(self._sandbox.resolve(folder)) == folder
        except (SandboxError, OSError):
            return False
