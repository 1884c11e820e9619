"""A script: what to answer to which message, step by step."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pegboard import PluginError

MAX_SCRIPT: Final = 16_777_216
Kind = str
_KINDS: Final = frozenset(
    {
        "auth",
        "bad_request",
        "billing",
        "context_overflow",
        "empty_stream",
        "malformed_tool_call",
        "network",
        "not_found",
        "overloaded",
        "permission",
        "protocol",
        "rate_limit",
        "refusal",
        "server",
        "timeout",
    }
)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Call(_Part):
    """A tool call: its arguments as a table, or as text that need be no JSON."""

    name: str = Field(min_length=1)
    arguments: dict[str, Any] | str = Field(default_factory=dict)

    @property
    def text(self) -> str:
        """The arguments as a model would write them."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


class Fault(_Part):
    """A failure in place of an answer, or in the middle of it."""

    kind: Kind
    message: str = "The script fails here."
    after_chars: int = Field(default=0, ge=0, description="Characters of `text` sent before.")
    retry_after: float | None = Field(default=None, ge=0)
    times: int = Field(default=1, ge=1, description="How often, before the step answers.")

    @model_validator(mode="after")
    def _known(self) -> Fault:
        if self.kind not in _KINDS:
            raise ValueError(f"kind must be one of {', '.join(sorted(_KINDS))}")
        return self


class Step(_Part):
    """One answer of the model."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    stop: str = Field(
        default="", pattern=r"|end|tool_use|max_tokens|refusal|pause|context_overflow|other"
    )
    fault: Fault | None = None
    delay_s: float = Field(default=0.0, ge=0, le=600, description="Seconds between two pieces.")


class Turn(_Part):
    """What to answer to a message that fits."""

    when: str = Field(default="", description="Regular expression; empty fits every message.")
    step: tuple[Step, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _compiles(self) -> Turn:
        try:
            re.compile(self.when)
        except re.error as error:
            raise ValueError(f"when is no regular expression: {error}") from error
        return self

    def fits(self, message: str) -> bool:
        """Tell whether this turn answers a message."""
        return re.search(self.when, message[:100_000]) is not None


class Script(_Part):
    """A whole script."""

    turn: tuple[Turn, ...] = Field(min_length=1)

    def answer(self, message: str, step: int) -> Step | None:
        """Return the step of the first turn that fits; the last one is said again and again.

        Args:
            message: The message that is answered.
            step: How many answers it has had so far.
        """
        for turn in self.turn:
            if turn.fits(message):
                return turn.step[min(step, len(turn.step) - 1)]
        return None


def read_script(file: Path) -> Script:
    """Read a script.

    Raises:
        PluginError: When it can't be read, or is none; says where and what is wrong.
    """
    try:
        if file.stat().st_size > MAX_SCRIPT:
            raise PluginError(f"The script {file} is larger than {MAX_SCRIPT} bytes.")
        return Script.model_validate(tomllib.loads(file.read_text("utf-8")))
    except OSError as error:
        raise PluginError(
            f"The script {file} can't be read: {error.strerror}.", fix=f"ls -l {file}"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PluginError(f"The script {file} is no TOML: {error}.") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise PluginError(f"The script {file}: {where}: {first['msg']}.") from error
