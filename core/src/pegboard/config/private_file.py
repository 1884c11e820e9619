"""Files that only their owner can read, written whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any

from pegboard.config.paths import StrPath, make_private
from pegboard.contracts.errors import ConfigError


def write_private(file: StrPath, text: str, *, durable: bool = True) -> None:
    """Replace a file in one step; a reader sees the old text or the new one, never a half.

    A symbolic link is followed, so that settings kept in a repository of dotfiles stay there.

    Args:
        file: Where; folders above it are made.
        text: The new content.
        durable: False when it need not survive a power failure.

    Raises:
        ConfigError: When it can't be written.
    """
    from pathlib import Path
    from threading import get_ident

    part = target = Path(file)
    try:
        target = target.resolve()
        part = target.with_name(f".{target.name}.{os.getpid()}-{get_ident()}.part")
        make_private(target.parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(part, flags, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        part.replace(target)
    except (OSError, RuntimeError) as error:  # RuntimeError: links that go round in a circle
        if part != target:
            with contextlib.suppress(OSError):
                part.unlink()
        why = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"{file} can't be written: {why}", fix=f"chmod u+w {target.parent}"
        ) from error


def read_json(file: StrPath) -> dict[str, Any]:
    """Read a JSON object; {} when the file is not there.

    Raises:
        ConfigError: When it can't be read, or is something else.
    """
    try:
        with open(file, "rb") as stream:  # noqa: PTH123
            data = json.loads(stream.read())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{file} can't be read: {error}", fix=f"mv {file} {file}.old") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{file} holds no JSON object", fix=f"mv {file} {file}.old")
    return data


def write_json(file: StrPath, data: Mapping[str, Any], *, durable: bool = True) -> None:
    """Write a JSON object, readable by the owner only.

    Raises:
        ConfigError: When it can't be written.
    """
    text = json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    write_private(file, text, durable=durable)
