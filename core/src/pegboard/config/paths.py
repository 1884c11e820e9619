"""Where Pegboard keeps its files.

What is on the path of `pegboard plugins list` is built for a quick start: its values are named
tuples or plain classes (a dataclass costs four times as much to define), and it keeps paths as
strings (pathlib costs as much to import as reading twenty manifests), which become `Path` objects
for whoever asks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

StrPath = str | os.PathLike[str]


class Paths:
    """The four folders. None of them has to exist.

    Args:
        config: What people edit.
        state: What the host remembers (failures, trust, logs, the store).
        data: What plugins keep.
        cache: What can be deleted at any time.
    """

    __slots__ = ("_cache", "_config", "_data", "_state")

    def __init__(self, config: StrPath, state: StrPath, data: StrPath, cache: StrPath) -> None:
        self._config = os.fspath(config)
        self._state = os.fspath(state)
        self._data = os.fspath(data)
        self._cache = os.fspath(cache)

    @property
    def config(self) -> Path:
        """What people edit."""
        return _path(self._config)

    @property
    def state(self) -> Path:
        """What the host remembers."""
        return _path(self._state)

    @property
    def data(self) -> Path:
        """What plugins keep."""
        return _path(self._data)

    @property
    def cache(self) -> Path:
        """What can be deleted at any time."""
        return _path(self._cache)

    @property
    def config_file(self) -> Path:
        """The user's settings."""
        return _path(self.config_name("config.toml"))

    @property
    def secrets_file(self) -> Path:
        """Secrets, readable by the owner only."""
        return _path(self.config_name("secrets.json"))

    @property
    def plugin_failures(self) -> Path:
        """One file for each failed activation, and the crash markers."""
        return _path(self.failures_name)

    @property
    def failures_name(self) -> str:
        """`plugin_failures` as a string."""
        return _join(self._state, "plugins")

    @property
    def plugin_storages(self) -> Path:
        """What the host keeps for plugins, each in a folder of its own."""
        return _path(_join(self._data, "storage"))

    def plugin_storage(self, plugin_id: str) -> Path:
        """Return the folder of what the host keeps for a plugin: its documents and tables."""
        return _path(_join(self._data, "storage", plugin_id))

    def config_name(self, file: str) -> str:
        """Return the path of a file in the config folder as a string."""
        return _join(self._config, file)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Paths) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return f"Paths{self._all()!r}"

    def _all(self) -> tuple[str, str, str, str]:
        return self._config, self._state, self._data, self._cache


def find_paths(env: Mapping[str, str] = os.environ) -> Paths:
    """Return the folders that `PEGBOARD_HOME`, else the XDG variables, name. Touches no file.

    A relative XDG value is ignored, as its specification says; a relative `PEGBOARD_HOME` counts
    from the current folder.
    """
    home = env.get("PEGBOARD_HOME", "").strip()
    if home:
        root = os.path.abspath(os.path.expanduser(home))  # noqa: PTH100, PTH111
        return Paths(*(_join(root, name) for name in ("config", "state", "data", "cache")))
    user = env.get("HOME") or os.path.expanduser("~")  # noqa: PTH111
    return Paths(
        _xdg(env, "XDG_CONFIG_HOME", user, ".config"),
        _xdg(env, "XDG_STATE_HOME", user, ".local/state"),
        _xdg(env, "XDG_DATA_HOME", user, ".local/share"),
        _xdg(env, "XDG_CACHE_HOME", user, ".cache"),
    )


def make_private(folder: Path) -> Path:
    """Create a folder, and those above it, that only the owner can enter; return it."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
    return folder


def _xdg(env: Mapping[str, str], name: str, user: str, default: str) -> str:
    value = env.get(name, "")
    base = value if os.path.isabs(value) else _join(user, *default.split("/"))  # noqa: PTH117
    return _join(base, "pegboard")


def _join(*parts: str) -> str:
    return os.path.join(*parts)  # noqa: PTH118


def _path(name: str) -> Path:
    from pathlib import Path

    return Path(name)
