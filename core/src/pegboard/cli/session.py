"""What the options before the command say, and the way from there to config, boot and host.

A command that a plugin contributes finds it as `ctx.obj`; `options`, `connect`, `open_host`, `run`
and `output` are what it may rely on.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pegboard.cli.output import Output
from pegboard.config.load import Config, load, parse_value
from pegboard.config.paths import Paths, find_paths
from pegboard.contracts.errors import UsageError

if TYPE_CHECKING:
    from pegboard.host import CommandHost, Host, HostOptions
    from pegboard.host.control.client import ControlClient
    from pegboard.plugins.decision.boot import Boot
    from pegboard.policy.redaction import Redactor

T = TypeVar("T")


class Session:
    """One invocation of the command.

    Args:
        home: Folder that holds config, state, data and cache, or None for the usual places.
        safe: True to load first-party plugins only.
        settings: `key=value` texts that win over every configuration file.
        output: Where text goes.

    Attributes:
        plugin: Id of the plugin whose command runs, or "".
    """

    def __init__(
        self,
        *,
        home: Path | None = None,
        safe: bool = False,
        settings: Sequence[str] = (),
        output: Output | None = None,
    ) -> None:
        self.home = home
        self.safe = safe
        self.settings = tuple(settings)
        self.output = output or Output()
        self.plugin = ""

    @cached_property
    def env(self) -> Mapping[str, str]:
        """The environment, with `--home` in it: what child processes get as well."""
        if self.home is None:
            return os.environ
        return {**os.environ, "PEGBOARD_HOME": str(self.home.absolute())}

    @cached_property
    def paths(self) -> Paths:
        """Where config, state, data and cache live."""
        return find_paths(self.env)

    @cached_property
    def overrides(self) -> dict[str, Any]:
        """The `--set` options, by dotted key."""
        return dict(setting(text) for text in self.settings)

    @cached_property
    def config(self) -> Config:
        """The configuration in force here, the trusted folder's included."""
        return load(
            self.paths,
            project=self.trusted_project(Path.cwd()),
            env=self.env,
            overrides=self.overrides,
        )

    @cached_property
    def redactor(self) -> Redactor:
        """What takes secrets out of errors and logs; shared with the host of this invocation."""
        from pegboard.config.secrets import Secrets
        from pegboard.policy.redaction import Redactor, environment_secrets

        secrets = Secrets(self.paths, self.env)
        return Redactor(lambda: environment_secrets(self.env), secrets.known)

    @cached_property
    def boot(self) -> Boot:
        """What is installed and in which state, without importing any of it."""
        return self.boot_with()

    def boot_with(
        self, *, retry_failed: bool = False, timings: dict[str, float] | None = None
    ) -> Boot:
        """Look at the environment again and decide each plugin's state.

        Commands about plugins must work when a required one is broken, so that is not enforced
        here; a host does.

        Args:
            retry_failed: True to take what failed before as usable again, as a host does.
            timings: Filled with the seconds that each phase took.
        """
        from pegboard.plugins.decision.boot import boot

        return boot(
            self.config,
            safe=self.safe,
            env=self.env,
            enforce_required=False,
            retry_failed=retry_failed,
            timings=timings,
        )

    def again(self) -> Session:
        """Return the same session with nothing read yet: for after a change."""
        return Session(home=self.home, safe=self.safe, settings=self.settings, output=self.output)

    @property
    def options(self) -> HostOptions:
        """How a host is opened for the current folder."""
        return self.options_for(None)

    def options_for(self, workspace: Path | None) -> HostOptions:
        """Return how a host is opened for a folder.

        Args:
            workspace: The folder that tools work in; None = the current one.
        """
        from pegboard.host import HostOptions

        folder = self.folder_for(workspace)
        return HostOptions(
            paths=self.paths,
            overrides=self.overrides,
            project=self.trusted_project(folder),
            workspace=folder,
            safe=self.safe,
            env=self.env,
            redactor=self.redactor,
        )

    def folder_for(self, workspace: Path | None) -> Path:
        """Return the absolute path of a workspace; None = the current folder.

        Raises:
            UsageError: When it is no folder.
        """
        folder = (workspace or Path.cwd()).absolute()
        if not folder.is_dir():
            raise UsageError(f"The workspace {folder} is not a folder.", fix=f"mkdir -p {folder}")
        return folder

    @asynccontextmanager
    async def connect(self, workspace: Path | None = None) -> AsyncIterator[CommandHost]:
        """Reach the host that owns the store; with none running, open one for this invocation.

        What is broken in it is said on standard error.

        Args:
            workspace: The folder that tools work in; None = the current one.

        Raises:
            UsageError: When an option can't count, since the running host has its own settings.
        """
        folder = self.folder_for(workspace)
        async with self.resident() as client:
            if client is not None:
                from pegboard.cli.resident import connected

                yield await connected(self, client, folder)
                return
        from pegboard.host.own_host import OwnHost

        async with self.open_host(workspace) as host:
            yield OwnHost(host)

    @asynccontextmanager
    async def resident(self) -> AsyncIterator[ControlClient | None]:
        """Reach the host that owns the store, for the time of the block; None when there is none.

        Raises:
            PegboardError: When it does not answer.
        """
        if not self.paths.state.is_dir():
            yield None
            return
        from pegboard.host.control.client import listening, reach

        client = await reach(self.paths.state)
        if client is None:
            yield None
            return
        async with listening(client):
            yield client

    @asynccontextmanager
    async def open_host(self, workspace: Path | None = None) -> AsyncIterator[Host]:
        """Open a host for this invocation, and say on standard error what is broken in it.

        It can't keep anything while another one owns the store; see `connect`.
        """
        from pegboard.cli.plugins.view import tell_broken
        from pegboard.host import open_host

        async with open_host(self.options_for(workspace)) as host:
            tell_broken(self.output, host.records, (*host.boot.problems, *host.registry.problems))
            yield host

    def run(self, function: Callable[[], Awaitable[T]]) -> T:
        """Run an async function to its end; Ctrl-C, SIGTERM and SIGHUP cancel it.

        What plugins print from now on does not reach standard output.
        """
        import gc

        import anyio

        from pegboard.cli.signals import run_until_told
        from pegboard.plugins.running.guard_stdout import divert_stdout

        gc.enable()
        divert_stdout()  # here: only this context, and what inherits from it, may speak
        return anyio.run(run_until_told, function)

    def trusted_project(self, folder: Path) -> Path | None:
        """Return `folder` when it has settings of its own and the person trusts it, else None."""
        if not (folder / ".pegboard" / "config.toml").is_file():
            return None
        from pegboard.config.trust import FolderTrust

        return folder if FolderTrust(self.paths).known(folder) else None


def setting(text: str) -> tuple[str, Any]:
    """Split `key=value` into a dotted key and a value: TOML where it is TOML, else the text.

    Raises:
        UsageError: When there is no `=`, or nothing before it.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(
            f"--set takes key=value, got {text!r}.", fix="pegboard --set agent.max_steps=20 ..."
        )
    return key.strip(), parse_value(value)


def session_of(ctx: click.Context) -> Session:
    """Return the session of an invocation, made from the options of the root command.

    Help and completion run before the root command itself, hence from here as well.
    """
    root = ctx.find_root()
    if not isinstance(root.obj, Session):
        given = root.params
        home = given.get("home")
        root.obj = Session(
            home=Path(home) if home else None,
            safe=bool(given.get("safe")),
            settings=given.get("settings") or (),
            output=Output(color=False if given.get("no_color") else None),
        )
    ctx.obj = root.obj
    return root.obj


def _choose_json(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        session_of(ctx).output.json_wanted = True


F = TypeVar("F", bound=Callable[..., Any])


def json_option(function: F) -> F:
    """Give a command the option `--json`; `session.output.json_wanted` tells whether it is set."""
    option = click.option(
        "--json",
        "as_json",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_choose_json,
        help="Print one JSON object instead of text.",
    )
    return option(function)
