"""Errors for people: what happened, and the command or line that fixes it."""

from __future__ import annotations

from typing import Any, ClassVar


class PegboardError(Exception):
    """Base of every error that Pegboard raises on purpose.

    Args:
        message: What happened and where, in one or two sentences.
        fix: The command or config line that mends it, or None when there is none.
        details: JSON-serialisable facts for programs.

    Attributes:
        code: Stable identifier for scripts (`config_invalid`).
        exit_code: Exit status of a command that ends with this error.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, fix: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.details = details

    def to_dict(self) -> dict[str, Any]:
        """Return the error as `--json` output shows it."""
        return {"code": self.code, "message": self.message, "fix": self.fix, **self.details}


class UsageError(PegboardError):
    """The caller asked for something that does not exist or makes no sense."""

    code = "usage"
    exit_code = 2


class ConfigError(PegboardError):
    """A configuration file or value is invalid."""

    code = "config_invalid"
    exit_code = 3


class PluginError(PegboardError):
    """A plugin is missing, broken or refused."""

    code = "plugin_error"
    exit_code = 4


class ManifestError(PluginError):
    """A plugin's manifest can't be read, or disagrees with its code."""

    code = "manifest_invalid"


class BuildError(PluginError):
    """A declaration can't be turned into a manifest (a bad annotation, an unknown hook)."""

    code = "build_failed"


class NoProviderError(PegboardError):
    """No model provider is installed, or none can be used."""

    code = "no_provider"
    exit_code = 5


class SandboxError(PegboardError):
    """A sandbox refused a path or command, or could not be opened."""

    code = "sandbox_refused"
    exit_code = 6


class RunError(PegboardError):
    """A run ended without an answer (step limit, repetition, provider failure)."""

    code = "run_failed"
    exit_code = 7


class BudgetError(RunError):
    """A budget is used up, or can't be held; the run stops before it asks a model again."""

    code = "budget_spent"


class ModelFileError(PegboardError):
    """The file of a model is missing, broken or not what it was."""

    code = "model_file"
    exit_code = 3


class StoreError(PegboardError):
    """The store can't be opened, read or written."""

    code = "store_failed"


class CapabilityDeniedError(PegboardError):
    """A run does not hold the capability that an action needs."""

    code = "capability_denied"
    exit_code = 8


class ToolFailure(PegboardError):
    """Raised by a tool that can't do its job; the model reads the message and the fix.

    Args:
        message: What happened.
        fix: What the model, or the person, can do next.
        code: Stable identifier, e.g. `not_found`.
        retryable: True when the same call may succeed later.
        outside: True when the message holds text from outside (a web page, a server), which is then
            fenced like a result.
    """

    code = "tool_failed"
    exit_code = 8

    def __init__(
        self,
        message: str,
        *,
        fix: str | None = None,
        code: str = "tool_failed",
        retryable: bool = False,
        outside: bool = False,
        **details: Any,
    ) -> None:
        super().__init__(message, fix=fix, **details)
        self.tool_code = code
        self.retryable = retryable
        self.outside = outside
