"""How a command ends that could not do its job: one message, one fix, one exit code."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import click

from pegboard.cli import exit_codes
from pegboard.cli.output import BAD, GOOD, WARN, Output
from pegboard.contracts.errors import PegboardError

if TYPE_CHECKING:
    from pegboard.policy.redaction import Redactor

DEBUG: Final = "PEGBOARD_DEBUG"


class Terminated(Exception):
    """The process was told to end by a signal."""


def debugging() -> bool:
    """Return whether the person asked for tracebacks."""
    return os.environ.get(DEBUG, "") not in ("", "0")


def report(
    error: BaseException,
    output: Output,
    *,
    plugin: str = "",
    redact: Redactor | None = None,
) -> int:
    """Print what went wrong and return the exit code.

    Args:
        error: What ended the command; a group of errors stands for its first.
        output: Where to print. With `--json` the error is also the JSON answer.
        plugin: Id of the plugin whose command it was, or "" for a command of core.
        redact: Takes secrets out of what is printed; None = one that knows none of this host's.
    """
    error = innermost(error)
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        output.note("Interrupted.")
        return exit_codes.INTERRUPTED
    if isinstance(error, Terminated):
        output.note(str(error))
        return exit_codes.TERMINATED
    if redact is None:
        from pegboard.policy.redaction import Redactor

        redact = Redactor()
    if debugging():
        import traceback

        output.note(redact("".join(traceback.format_exception(error))))
    facts, code = _facts(error, plugin)
    facts = redact.data(facts)
    if output.json_wanted:
        output.json({"error": facts})
    tell(output, facts["message"], facts["fix"])
    return code


def tell(output: Output, message: str, fix: str | None, *, title: str = "Error") -> None:
    """Print a message and its fix on standard error."""
    output.note(f"{title}: {message}", BAD if title == "Error" else WARN)
    if fix:
        output.note(f"  Fix: {fix}", GOOD)


def innermost(error: BaseException) -> BaseException:
    """Return the one error that a task group's bundle of errors is about.

    An interrupt wins over everything, then an error of Pegboard's own, then the first.
    """
    if not isinstance(error, BaseExceptionGroup):
        return error
    leaves = [innermost(inner) for inner in error.exceptions]
    for kind in (KeyboardInterrupt, PegboardError):
        for leaf in leaves:
            if isinstance(leaf, kind):
                return leaf
    return leaves[0]


def _facts(error: BaseException, plugin: str) -> tuple[dict[str, Any], int]:
    if isinstance(error, PegboardError):
        return error.to_dict(), error.exit_code
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "pegboard"
        return _plain("usage", error.format_message(), f"{path} --help"), exit_codes.USAGE
    if isinstance(error, click.ClickException):
        return _plain("failed", error.format_message(), None), exit_codes.FAILED
    if isinstance(error, OSError):
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return _plain("system", message, None), exit_codes.FAILED
    who = f"The plugin {plugin}" if plugin else "Pegboard itself"
    message = f"{who} failed: {type(error).__name__}: {error}"
    fix = f"run it again with {DEBUG}=1 and report the traceback"
    code = exit_codes.PLUGIN if plugin else exit_codes.FAILED
    return _plain("plugin_error" if plugin else "internal", message, fix), code


def _plain(code: str, message: str, fix: str | None) -> dict[str, Any]:
    return {"code": code, "message": message, "fix": fix}
