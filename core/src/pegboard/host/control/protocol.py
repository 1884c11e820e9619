"""The wire format of the control socket: one JSON object a line, in both directions.

The host begins with a greeting. A request is `{"id": 1, "verb": "status", ...}`; any number of
frames with its id may come back, and the last is `{"id": 1, "ok": {...}}` or `{"id": 1, "error":
{...}}`. An error without an id is about the connection, which then ends.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Final, NoReturn

from pegboard.contracts.errors import PegboardError

VERSION: Final = 1
"""Version of the protocol; fields and verbs may be added to it, none is removed or changed."""
MAX_REQUEST: Final = 64_000_000
"""Bytes of a request: the longest text that `ask` takes, with every character escaped."""
MAX_FRAME: Final = 256_000_000
"""Bytes of an answer that a client takes."""


class ProtocolError(PegboardError):
    """What came through the control socket is not what the protocol says."""

    code = "protocol"


def encoded(frame: Mapping[str, Any]) -> bytes:
    """Return a frame as a line; what is no JSON value is written as the text that it shows."""
    return json.dumps(frame, separators=(",", ":"), default=str).encode("ascii") + b"\n"


def decoded(line: bytes) -> dict[str, Any]:
    """Return the frame in a line.

    Raises:
        ProtocolError: When it is no JSON object.
    """
    try:
        frame = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"A line that is no JSON: {str(error)[:200]}.") from error
    if not isinstance(frame, dict):
        raise ProtocolError(f"A line that is no JSON object: a {type(frame).__name__}.")
    return frame


def error_form(error: PegboardError) -> dict[str, Any]:
    """Return an error as it is sent."""
    return {**error.to_dict(), "exit_code": error.exit_code}


def error_of(form: Mapping[str, Any]) -> PegboardError:
    """Return the error that was sent, with its code, its exit code and its fix."""
    known = ("code", "message", "fix", "exit_code")
    details = {str(key): value for key, value in form.items() if key not in known}
    kind = _kind(str(form.get("code", "error")), _exit_code(form.get("exit_code")))
    fix = form.get("fix")
    return kind(
        str(form.get("message", "The host failed.")),
        fix=None if fix is None else str(fix),
        **details,
    )


class _Told(PegboardError):
    """An error that another process has told."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1


def _kind(code: str, exit_code: int) -> type[PegboardError]:
    return type("HostError", (_Told,), {"code": code, "exit_code": exit_code})


def _exit_code(value: object) -> int:
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 256
    return value if usable and isinstance(value, int) else 1


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
