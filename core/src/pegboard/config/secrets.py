"""Secrets by name: environment, then the system's keyring, then a file only the owner can read.

A keyring can't list what it holds, so the file also keeps the names (not the values) of the secrets
that were put there. It is asked only for those names: asking may open a dialog.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, Literal

from pegboard.config.keyring_store import working_keyring
from pegboard.config.paths import Paths
from pegboard.config.private_file import read_json, write_json
from pegboard.contracts.errors import ConfigError, UsageError

Where = Literal["environment", "keyring", "file"]
_NAME: Final = r"[A-Za-z][A-Za-z0-9_.-]*\Z"


ENV: Final = "env:"
"""Begins the name of a secret that is read from one variable of the environment."""


class Secrets:
    """Read and keep secrets.

    Args:
        paths: The folders; the file is `paths.secrets_file`.
        env: The environment; `openai_api_key` is read from `OPENAI_API_KEY`.
        backend: Where `set` writes: `auto` = keyring when it works, else the file.
    """

    def __init__(
        self, paths: Paths, env: Mapping[str, str] = os.environ, *, backend: str = "auto"
    ) -> None:
        self._file = paths.config_name("secrets.json")
        self._env = env
        self._backend = backend

    def get(self, name: str) -> str | None:
        """Return a secret, or None when nobody set it.

        Args:
            name: Its name; `env:NAME` is read from that variable of the environment only.

        Raises:
            ConfigError: When it is kept in a keyring that does not work now, or the file is broken.
        """
        value = self._from_env(name)
        if value is not None or name.startswith(ENV):
            return value
        kept = self._read()
        if name in kept["keyring"]:
            return self._from_keyring(name)
        found = kept["values"].get(name)
        return None if found is None else str(found)

    def has(self, name: str) -> bool:
        """Say whether a secret is set, without asking a keyring."""
        return self.where(name) is not None

    def where(self, name: str) -> Where | None:
        """Return where a secret would be read from, or None when nobody set it."""
        if self._from_env(name) is not None:
            return "environment"
        return dict(self.names()).get(name)

    def set(self, name: str, value: str) -> Where:
        """Keep a secret and return where it went.

        Raises:
            UsageError: When the name or the value can't be one.
            ConfigError: When the keyring is asked for and does not work, or the file is broken.
        """
        if not re.match(_NAME, name):
            raise UsageError(
                f"{name!r} can't name a secret: letters, digits, `_`, `-` and `.`, first a letter",
                fix="pegboard secret set NAME",
            )
        if not value:
            raise UsageError("a secret can't be empty", fix=f"pegboard secret rm {name}")
        kept = self._read()
        kept["values"].pop(name, None)
        kept["keyring"] = [other for other in kept["keyring"] if other != name]
        where: Where = "file"
        if self._put_in_keyring(name, value):
            kept["keyring"] = sorted([*kept["keyring"], name])
            where = "keyring"
        else:
            kept["values"][name] = value
        write_json(self._file, kept)
        return where

    def remove(self, name: str) -> bool:
        """Forget a secret; False when it was not kept here.

        Raises:
            ConfigError: When the file is broken.
        """
        kept = self._read()
        if name in kept["keyring"]:
            keyring = working_keyring()
            if keyring is not None:
                keyring.remove(name)
        elif name not in kept["values"]:
            return False
        kept["values"].pop(name, None)
        kept["keyring"] = [other for other in kept["keyring"] if other != name]
        write_json(self._file, kept)
        return True

    def names(self) -> list[tuple[str, Where]]:
        """Return the names that `set` keeps, and where each is; never the values."""
        kept = self._read()
        in_file: list[tuple[str, Where]] = [(name, "file") for name in kept["values"]]
        return sorted([*in_file, *((name, "keyring") for name in kept["keyring"])])

    def known(self) -> Iterator[str]:
        """Yield the secret values that can be read without asking a keyring: for a redactor.

        A file that can't be read holds no secret that could be shown.
        """
        with suppress(ConfigError):
            kept = self._read()
            yield from map(str, kept["values"].values())
            for name in (*kept["values"], *kept["keyring"]):
                value = self._from_env(name)
                if value is not None:
                    yield value

    def _from_env(self, name: str) -> str | None:
        if name.startswith(ENV):
            return self._env.get(name.removeprefix(ENV)) or None
        for spelling in (name, re.sub(r"[.-]", "_", name).upper()):
            if self._env.get(spelling):
                return self._env[spelling]
        return None

    def _from_keyring(self, name: str) -> str:
        keyring = working_keyring()
        value = None if keyring is None else keyring.get(name)
        if value is None:
            why = "is not there any more" if keyring else "can't be read: no keyring works here"
            raise ConfigError(
                f"the secret {name} was kept in the system's keyring and {why}",
                fix=f"pegboard secret set {name}",
            )
        return value

    def _put_in_keyring(self, name: str, value: str) -> bool:
        """Keep a secret in the keyring; False when it belongs in the file."""
        if self._backend == "file":
            return False
        keyring = working_keyring()
        if keyring is None:
            if self._backend == "keyring":
                raise ConfigError(
                    "secrets.backend is 'keyring', but no keyring works here",
                    fix="pegboard config set secrets.backend file",
                )
            return False
        try:
            keyring.set(name, value)
        except ConfigError:
            if self._backend == "keyring":
                raise
            return False
        return True

    def _read(self) -> dict[str, Any]:
        data = read_json(self._file)
        values, keyring = data.get("values", {}), data.get("keyring", [])
        if not isinstance(values, dict) or not isinstance(keyring, list):
            raise ConfigError(
                f"{self._file} is not as it was written", fix=f"mv {self._file} {self._file}.old"
            )
        return {"values": values, "keyring": keyring}
