"""The system's keyring, when the optional package `keyring` is installed and works."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Final, TypeVar

from pegboard.contracts.errors import ConfigError

SERVICE: Final = "pegboard"
T = TypeVar("T")


class KeyringStore:
    """Read and write secrets in a keyring; every failure is a ConfigError."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def get(self, name: str) -> str | None:
        """Return a secret, or None when the keyring does not hold it."""
        value = self._try(lambda: self._module.get_password(SERVICE, name))
        return None if value is None else str(value)

    def set(self, name: str, value: str) -> None:
        """Keep a secret."""
        self._try(lambda: self._module.set_password(SERVICE, name, value))

    def remove(self, name: str) -> None:
        """Forget a secret; nothing happens when the keyring does not hold it."""
        if self.get(name) is not None:
            self._try(lambda: self._module.delete_password(SERVICE, name))

    def _try(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except Exception as error:  # backends raise errors of their own besides KeyringError
            raise ConfigError(
                f"the system's keyring failed: {error or type(error).__name__}",
                fix="pegboard config set secrets.backend file",
            ) from error


def working_keyring() -> KeyringStore | None:
    """Return the keyring, or None when there is none that keeps secrets."""
    try:
        import keyring
        from keyring.backends import fail, null
    except ImportError:
        return None
    backend = keyring.get_keyring()
    if isinstance(backend, (fail.Keyring, null.Keyring)) or backend.priority <= 0:
        return None
    return KeyringStore(keyring)
