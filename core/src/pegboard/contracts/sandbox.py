"""Where files live and commands run. File, shell, git and search tools use only this."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol, runtime_checkable

from pegboard.contracts.effects import ALL_EFFECTS, Effects

FileKind = Literal["file", "dir", "symlink", "other"]
Enforcement = Literal["yes", "partial", "no"]
Grip = Literal["ro", "rw"]
Ability = Literal["background", "terminal"]
"""What a sandbox can do beside running commands to their end (`contracts.process`)."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A folder that a sandbox may reach. `mode` is `ro` or `rw`."""

    path: Path
    mode: Grip = "rw"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """What a run asks a sandbox for.

    Args:
        workspace: The folder that relative paths and commands start in.
        grants: Further folders.
        protected: Folders and files that no grant opens (state and config of the host).
        effects: Upper bound of what may happen inside.
        env: Names of environment variables that commands may see beside the default ones.
    """

    workspace: Path
    grants: tuple[Grant, ...] = ()
    protected: tuple[Path, ...] = ()
    effects: Effects = ALL_EFFECTS
    env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxInfo:
    """Facts about a kind of sandbox.

    Args:
        id: Name of the type.
        confines_commands: True when a command can't reach what the grants don't open.
        preference: Lower is taken first when the operator chose `auto`.
        abilities: `background` when it starts commands that go on while the caller does something
            else, `terminal` when it gives them a terminal: it has `StartsProcesses.start` then.
        files_here: True when its files are this machine's own, under the same absolute paths. A
            program of the host may then look for candidates among them; what is shown of one is
            still read through the sandbox.
    """

    id: str
    confines_commands: bool
    preference: int = 50
    abilities: frozenset[Ability] = frozenset()
    files_here: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxReport:
    """What an opened sandbox enforces, for `doctor` and `explain`.

    Args:
        sandbox: Name of the type.
        enforced: For each of `fs_read fs_write net signals pids tree_kill`: `yes`, `partial` or
            `no`.
        grants: Folders that can be reached.
        notes: Sentences that a person must know.
    """

    sandbox: str
    enforced: Mapping[str, Enforcement]
    grants: tuple[Grant, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-serialisable data."""
        return {
            "sandbox": self.sandbox,
            "enforced": dict(self.enforced),
            "grants": [{"path": str(grant.path), "mode": grant.mode} for grant in self.grants],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A process to run.

    Args:
        argv: Program and arguments; never a shell string (a shell is `("bash", "-c", source)`).
        cwd: Folder, relative to the workspace or below a grant; "" = the workspace.
        env: Variables to set beside the allowed ones.
        stdin: Bytes to feed; b"" = closed at once.
        timeout_s: Wall-clock seconds until it is stopped.
        idle_s: Seconds without output until it is stopped, or None.
        grace_s: Seconds between TERM and KILL.
        keep_head, keep_tail: Bytes kept of the start and the end of each stream.
        max_output: Bytes after which the process is stopped.
        vetted: True when the tool chose the program and judged every argument, and vouches that it
            does no more than the effects of the call say. It then needs no effect `exec`, which is
            for commands that a model writes.
    """

    argv: Sequence[str]
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    timeout_s: float = 120.0
    idle_s: float | None = None
    grace_s: float = 2.0
    keep_head: int = 16_384
    keep_tail: int = 16_384
    max_output: int = 268_435_456
    vetted: bool = False

    def lacks_exec(self, effects: Effects) -> bool:
        """Return whether the command lacks the effect `exec` among those of a call."""
        return not self.vetted and "exec" not in effects


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What was kept of a stream.

    Args:
        head: The first bytes (all of them when nothing was omitted).
        tail: The last bytes, when something was.
        omitted: Bytes between the two that were dropped.
    """

    head: bytes = b""
    tail: bytes = b""
    omitted: int = 0

    def text(self) -> str:
        """Return the stream as text, with a line that says what was left out."""
        head = self.head.decode("utf-8", "replace")
        if not self.omitted:
            return head + self.tail.decode("utf-8", "replace")
        tail = self.tail.decode("utf-8", "replace")
        return f"{head}\n[... {self.omitted} bytes omitted ...]\n{tail}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """How a command ended.

    Args:
        exit_code: Exit status, or None when a signal ended it.
        signal: Number of that signal, or None.
        stdout, stderr: What was kept.
        duration_s: Wall-clock seconds.
        timed_out: `wall`, `idle`, `output` when it was stopped for that, else None.
        pipe_held: True when something it started still held its output at the end.
        notes: What the sandbox has to say of it, in sentences: a host that it refused to let the
            command reach, a file that it did not let stay.
    """

    exit_code: int | None
    signal: int | None = None
    stdout: Captured = Captured()
    stderr: Captured = Captured()
    duration_s: float = 0.0
    timed_out: Literal["wall", "idle", "output"] | None = None
    pipe_held: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStat:
    """What is known of a path.

    Args:
        path: The path, relative to the workspace where it is inside, else absolute.
        kind: What it is; links are not followed.
        size: Bytes.
        mtime_ns: Time of the last change in nanoseconds since the epoch.
        mode: Permission bits.
    """

    path: str
    kind: FileKind
    size: int
    mtime_ns: int
    mode: int


OutputSink = Callable[[Literal["stdout", "stderr"], bytes], Awaitable[None]]
MAX_READ: Final = 67_108_864


@runtime_checkable
class Sandbox(Protocol):
    """An opened sandbox. Paths are strings as a model writes them; every method checks them.

    Raises:
        SandboxError: From every method, when a path is outside the grants, protected or no regular
            file; the message names the command that would allow it.
        FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError:
            As the operating system says.
    """

    info: SandboxInfo
    workspace: Path
    effects: Effects

    def resolve(self, path: str, *, write: bool = False) -> str:
        """Return the absolute path that `path` names, after checking it against the grants."""
        ...

    def display(self, absolute: str) -> str:
        """Return how to show a path: relative to the workspace where it is inside."""
        ...

    async def read(self, path: str, *, offset: int = 0, limit: int = MAX_READ) -> bytes:
        """Return at most `limit` bytes from `offset` of a regular file."""
        ...

    async def write(
        self,
        path: str,
        data: bytes,
        *,
        parents: bool = True,
        must_be_new: bool = False,
        new_mode: int | None = None,
    ) -> None:
        """Replace a file as one step; mode and owner of an existing file are kept.

        Args:
            path: The file.
            data: Its whole new content.
            parents: Whether missing folders are made.
            must_be_new: Fail when there is such a file.
            new_mode: Permission bits of a file that was not there, as `FileStat.mode` has them;
                None = those of any new file.
        """
        ...

    async def stat(self, path: str) -> FileStat | None:
        """Return what `path` is, or None when there is nothing."""
        ...

    async def list_dir(self, path: str) -> list[FileStat]:
        """Return the entries of a folder, sorted by name."""
        ...

    def walk(self, path: str, *, skip: frozenset[str] = frozenset()) -> AsyncIterator[FileStat]:
        """Yield every file and link below `path`, sorted, without following links to folders.

        Args:
            path: Where to start; a file yields itself.
            skip: Names of folders not to enter.
        """
        ...

    async def make_dir(self, path: str) -> None:
        """Create a folder and its parents."""
        ...

    async def remove(self, path: str) -> None:
        """Remove a file, or an empty folder."""
        ...

    async def rename(self, source: str, target: str) -> None:
        """Rename a file; refuses to replace an existing one."""
        ...

    async def run(self, command: Command, *, on_output: OutputSink | None = None) -> Completed:
        """Run a command to its end. Cancelling this call ends the whole process tree."""
        ...

    def narrowed(self, effects: Effects) -> Sandbox:
        """Return the same sandbox with fewer effects; the two share what is open."""
        ...

    def explain(self) -> SandboxReport:
        """Return what this sandbox enforces."""
        ...

    async def aclose(self) -> None:
        """End what still runs and give back resources."""
        ...


@runtime_checkable
class ReadsMany(Protocol):
    """A sandbox that reads many small files at once, which costs less than one after another."""

    async def read_each(self, paths: Sequence[str], *, limit: int) -> list[bytes | None]:
        """Return the first `limit` bytes of each file, in order; None where it can't be read."""
        ...


@runtime_checkable
class SandboxBackend(Protocol):
    """A kind of sandbox."""

    info: SandboxInfo

    async def probe(self) -> str | None:
        """Return None when it works on this machine, else why not and what to do."""
        ...

    async def open(self, spec: SandboxSpec) -> Sandbox:
        """Open a sandbox.

        Raises:
            SandboxError: When it can't be built; never a weaker one instead.
        """
        ...
