"""Let ripgrep name the files in which a line may match: fast, and only on this machine.

Nothing that it prints is shown. Each file it names is read through the sandbox and searched again,
so it can neither show what the sandbox closes nor decide what a match is.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sysconfig
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import anyio
from anyio import to_thread

from pegboard import Sandbox, SandboxError

PROGRAM: Final = "rg"
_CHUNK: Final = 1 << 16
_MOST_SAID: Final = 4096
_FIRST_GROUP: Final = 4
_LARGEST_GROUP: Final = 256
_PATIENCE_S: Final = 0.1
"""After which it is looked whether anybody still waits, and what was found till then is given."""
_PAUSE_S: Final = 0.02
_PAUSE_SHARE: Final = 0.1
"""Of the time so far; so a pause never makes a search longer by more than this part."""
_FIXED: Final = (
    # no settings of the user, no program of theirs in between
    "--no-config",
    # one line for each file, written at once: name, NUL, 1
    *("--count", "--max-count=1", "--null", "--line-buffered", "--with-filename"),
    *("--color=never", "--sort=path", "--no-messages", "--no-mmap"),
    # what is text and what is hidden is decided by us
    *("--text", "--hidden", "--glob=!**/.git/"),
)
_GITIGNORE: Final = (
    # the same ignore files as ours: `.gitignore`, from where the search starts on
    *("--no-require-git", "--no-ignore-parent", "--no-ignore-dot"),
    *("--no-ignore-exclude", "--no-ignore-global"),
)


class RipgrepFailed(Exception):
    """Ripgrep could not do what it was asked; the search has to be done without it."""


@dataclass(frozen=True, slots=True)
class RipgrepQuery:
    """What ripgrep is asked.

    Args:
        expression: A regular expression in its dialect.
        ignore_case: Let letter case not matter.
        gitignore: Leave out what `.gitignore` files name.
        names: Patterns of file names to look into; empty = all.
    """

    expression: str
    ignore_case: bool = False
    gitignore: bool = True
    names: tuple[str, ...] = ()


def find_ripgrep(sandbox: Sandbox) -> str | None:
    """Return where ripgrep is, or None when it can't be used for this sandbox.

    A program that the sandbox may write is none of the host's: a run could have put it there.
    """
    if not sandbox.info.files_here:
        return None
    for path in (os.environ.get("PATH", ""), _beside()):
        found = shutil.which(PROGRAM, path=path)
        if found and not _is_writable(sandbox, found):
            return found
    return None


@cache
def _beside() -> str:
    """Return where else programs are; finding that out takes longer than looking there."""
    return os.pathsep.join((sysconfig.get_path("scripts"), os.defpath))


def _is_writable(sandbox: Sandbox, program: str) -> bool:
    named = Path(program)
    for place in (named.absolute(), named.resolve()):
        try:
            sandbox.resolve(str(place), write=True)
        except (SandboxError, OSError):
            continue
        return True
    return False


def command_line(program: str, query: RipgrepQuery) -> list[str]:
    """Return the command for a query; it searches the folder that it is started in."""
    names = [f"--type-add=wanted:{name}" for name in query.names]
    return [
        program,
        *_FIXED,
        *(_GITIGNORE if query.gitignore else ("--no-ignore",)),
        *(["--ignore-case"] if query.ignore_case else ["--case-sensitive"]),
        *([*names, "--type=wanted"] if names else []),
        f"--regexp={query.expression}",
        "--",
        "./",
    ]


async def files_with_matches(
    argv: Sequence[str],
    folder: str,
    *,
    enough: int,
    remaining: Callable[[], float],
    passed_over: Callable[[], None],
) -> AsyncGenerator[list[str], None]:
    """Yield the paths, relative to `folder`, as ripgrep prints them: few at first, then more.

    It is ended with the generator, and as soon as it has named enough.

    Args:
        argv: From `command_line`.
        folder: Where it is started.
        enough: Files after which no more are wanted; a few more may be yielded.
        remaining: Returns the seconds that are left.
        passed_over: Called at the end when a file or a folder could not be read.

    Raises:
        RipgrepFailed: When it can't be started, or says that something is wrong.
        TimeoutError: When the time is over.
    """
    try:
        running = await to_thread.run_sync(_Running, argv, folder, enough)
    except OSError as error:
        raise RipgrepFailed(str(error)) from error
    wanted = _FIRST_GROUP
    # each step to a worker thread and back costs as much as reading a few files: so groups grow
    try:
        while not running.ended:
            found = await to_thread.run_sync(running.next_paths, wanted)
            if remaining() <= 0:
                raise TimeoutError
            if found:
                wanted = min(8 * wanted, _LARGEST_GROUP)
                yield found
    finally:
        if not running.ended:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(running.end)
    # 1 = nothing matched; 2 with nothing said = something could not be read, as with us
    if running.missing > 0 and running.process.returncode == 2:
        passed_over()
    if running.missing > 0 and (running.said or running.process.returncode not in (0, 1, 2)):
        raise RipgrepFailed(running.said.decode("utf-8", "replace"))


class _Running:
    """A process that is read in worker threads: an event for each line would cost too much."""

    def __init__(self, argv: Sequence[str], folder: str, enough: int) -> None:
        self.process = subprocess.Popen(
            argv,
            cwd=folder,
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        self.said = b""
        self.ended = False
        self.missing = enough
        self._named = 0
        self._begun = time.monotonic()
        self._rest = b""
        assert self.process.stdout is not None
        self._poll = select.poll()
        self._poll.register(self.process.stdout, select.POLLIN | select.POLLHUP)

    def next_paths(self, wanted: int) -> list[str]:
        """Return what was printed: as many as are wanted, or fewer when that takes long."""
        until = time.monotonic() + _PATIENCE_S
        found: list[str] = []
        while len(found) < wanted and not self.ended:
            left = until - time.monotonic()
            if left <= 0 or not (events := self._poll.poll(1e3 * left)):
                break
            # what comes in meanwhile is looked at together, which costs less than one by one
            if not events[0][1] & select.POLLHUP:
                time.sleep(self._pause())
            found += self._read()
        return found

    def _pause(self) -> float:
        """Return seconds in which ripgrep hardly names all that are missing: it would run on."""
        spent = time.monotonic() - self._begun
        half = self.missing * spent / (2 * self._named + 1)
        return min(_PAUSE_S, _PAUSE_SHARE * spent, half)

    def _read(self) -> list[str]:
        assert self.process.stdout is not None
        piece = os.read(self.process.stdout.fileno(), _CHUNK)
        if not piece:
            assert self.process.stderr is not None
            self.said = self.process.stderr.read(_MOST_SAID)
            self.process.wait()
            self.end()
            return []
        found, self._rest = _paths(self._rest + piece)
        self._named += len(found)
        self.missing -= len(found)
        if self.missing <= 0:
            self.end()
        return found

    def end(self) -> None:
        """Kill the process if it still runs, and give back its pipes."""
        with self.process:
            self.process.kill()
        self.ended = True


def _paths(text: bytes) -> tuple[list[str], bytes]:
    """Return the paths in what was printed, and the part of the next one."""
    found: list[str] = []
    at = 0
    while (stop := text.find(b"\0", at)) >= 0 and (end := text.find(b"\n", stop)) >= 0:
        found.append(os.fsdecode(text[at:stop].removeprefix(b"./")))
        at = end + 1
    return found, text[at:]
