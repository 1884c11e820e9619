"""The entry point of the `pegboard` command, and how every run of it ends."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import Final

_LAST_WORD_S: Final = 0.2
"""How long a thread that is left at the end may take to end by itself."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Args:
        args: The words after the program's name; None = those of this process.
    """
    if args is None:
        # A command that only reads and prints is over before the garbage collector can find
        # anything, and would spend a fifth of its time on that; `Session.run` switches it on again.
        gc.disable()
    from pegboard.cli import exit_codes

    if "_PEGBOARD_COMPLETE" in os.environ:
        from pegboard.cli.root import PROGRAM, root

        root.main(prog_name=PROGRAM)
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    code = exit_codes.DONE
    try:
        code = _run(list(sys.argv[1:] if args is None else args))
        sys.stdout.flush()
    except BrokenPipeError:
        code = exit_codes.READER_GONE
        _forget_output()
    except OSError as error:
        if code == exit_codes.DONE:  # else the command has said so itself
            sys.stderr.write(f"Error: The output can't be written: {error.strerror}.\n")
        code = code or exit_codes.FAILED
        _forget_output()
    if args is None:
        _leave_threads(code)
        gc.freeze()  # the last collection, at exit, would only look for what is given back anyway
    return code


def _run(words: list[str]) -> int:
    import click

    from pegboard.cli.root import PROGRAM, root

    ctx: click.Context | None = None
    try:
        with root.make_context(PROGRAM, words) as ctx:
            root.invoke(ctx)
    except click.exceptions.Exit as end:
        return end.exit_code
    except (BrokenPipeError, GeneratorExit, SystemExit):
        raise
    except BaseException as error:  # the last frame: nothing may end as a traceback
        from pegboard.cli.fault import report
        from pegboard.cli.output import Output

        session = ctx.obj if ctx is not None else None
        output = session.output if session is not None else Output()
        output.json_wanted |= isinstance(error, click.UsageError) and "--json" in words
        if session is None:
            return report(error, output)
        return report(error, output, plugin=session.plugin, redact=session.redactor)
    return 0


def _leave_threads(code: int) -> None:
    """End the process when a thread of a plugin is stuck: Python can't stop it and would wait.

    A plain function that overran its time, or was cancelled, goes on in its thread.
    """
    threading = sys.modules.get("threading")
    if threading is None:
        return
    left = [thread for thread in threading.enumerate() if not thread.daemon]
    left.remove(threading.main_thread())
    for thread in left:
        thread.join(_LAST_WORD_S)
    if any(thread.is_alive() for thread in left):
        sys.stderr.flush()
        os._exit(code)


def _open_streams() -> None:
    """Open what whoever started us has closed: the next file opened would be taken for it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        nothing = os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
        mode = "w" if number else "r"
        setattr(sys, name, open(nothing, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _forget_output() -> None:
    """Point standard output at nothing, so that flushing it at exit can't fail once more."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
