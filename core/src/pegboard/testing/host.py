"""Hosts for tests: real ones, with a home, a workspace and plugins of their own."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

from pegboard.config.paths import Paths, find_paths
from pegboard.contracts.channel import ChannelInfo, Delivery, Inbox, TurnOutcome
from pegboard.contracts.clock import Clock, SystemClock
from pegboard.contracts.hook_names import BEHAVIOUR_HOOKS
from pegboard.contracts.message import InboundMessage, OutboundMessage
from pegboard.contracts.result import ToolResult
from pegboard.contracts.stream import StreamEvent
from pegboard.host import Host, HostOptions, open_host
from pegboard.plugins.declaration import Plugin
from pegboard.testing.dists import Dist
from pegboard.testing.inline import forget, inline_dist
from pegboard.testing.model import ScriptedModel
from pegboard.testing.recorder import Recorder

MODEL_ID: Final = "scripted-model"
RECORDER_ID: Final = "recorder"
KEPT: Final = ("HOME", "LANG", "LC_ALL", "PATH", "SYSTEMROOT", "TMPDIR", "TZ", "USER")
"""All of the environment that a host of a test sees: no setting, no secret of whoever runs it."""
NOTHING: Final[Mapping[str, Any]] = {}
NO_PLUGINS: Final[Mapping[str, Plugin]] = {}


class Desk:
    """A channel without a surface: a test is the person in front of it."""

    def __init__(self) -> None:
        self.info = ChannelInfo(surface="terminal", local=True, streaming=True, retract=True)
        self.sent: list[OutboundMessage] = []
        self.answers: list[bool] = []
        self.questions: list[str] = []

    async def run(self, inbox: Inbox) -> None:
        """Return at once: messages come from the test."""

    async def send(self, message: OutboundMessage) -> Delivery:
        """Keep a reply."""
        self.sent.append(message)
        return Delivery(external_ids=(str(len(self.sent)),))

    async def stream(self, chat: str, event: StreamEvent) -> None:
        """Show nothing; the recorder keeps the events."""

    async def ask(self, chat: str, question: str) -> bool:
        """Answer with the next of `answers`, else no."""
        self.questions.append(question)
        return self.answers.pop(0) if self.answers else False


class HostUnderTest:
    """A running host, and what a test says to it.

    Attributes:
        host: The host itself.
        home: Folder of its config, state, data and cache.
        workspace: Folder that tools work in.
        recorder: Stream events and hook calls.
        model: The scripted model, or None.
        desk: The channel through which `ask` speaks.
    """

    def __init__(
        self,
        host: Host,
        home: Path,
        workspace: Path,
        recorder: Recorder,
        model: ScriptedModel | None,
    ) -> None:
        self.host = host
        self.home = home
        self.workspace = workspace
        self.recorder = recorder
        self.model = model
        self.desk = Desk()

    async def call(
        self, tool: str, /, raw: str | None = None, *, as_guest: bool = False, **arguments: Any
    ) -> ToolResult:
        """Call a tool through the one dispatch path.

        Args:
            tool: Short or canonical name.
            raw: The text of the arguments as a model wrote it; None = from `arguments`.
            as_guest: True to call as a guest would.
            arguments: The arguments by name.
        """
        given = arguments if raw is None else raw
        return await self.host.call_tool(tool, given, self.host.local_caller(as_guest=as_guest))

    async def ask(self, text: str, *, chat: str = "test") -> TurnOutcome:
        """Run one turn to its end."""
        message = InboundMessage(channel="test", chat=chat, sender="person", text=text)
        return await self.host.submit(message, self.desk, emit=self.recorder)


class HostFactory:
    """Opens hosts below one folder; the fixture `host` is one.

    Every host of a test shares `home` and `workspace`, so that a second one finds what the first
    one left.

    Args:
        folder: An empty folder.

    Attributes:
        home: Folder of config, state, data and cache.
        workspace: Folder that tools work in.
    """

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.workspace = folder / "workspace"
        self._dists = folder / "dists"
        self._opened = itertools.count(1)
        self.workspace.mkdir(parents=True, exist_ok=True)

    @asynccontextmanager
    async def __call__(
        self,
        *plugins: str,
        inline: Mapping[str, Plugin] = NO_PLUGINS,
        model: ScriptedModel | None = None,
        config: Mapping[str, Any] = NOTHING,
        secrets: Mapping[str, str] = NOTHING,
        path: Sequence[Path] = (),
        clock: Clock | None = None,
        safe: bool = False,
        record: bool = True,
    ) -> AsyncIterator[HostUnderTest]:
        """Open a host with the named plugins and no others.

        Args:
            plugins: Ids of installed plugins.
            inline: Plugins that the test makes itself, by id.
            model: A model to answer turns; it becomes the configured provider.
            config: Settings by dotted key; a table may be given whole.
            secrets: Secrets by name.
            path: Further folders with distributions (`make_dist`).
            clock: Another clock than the machine's.
            safe: True to open it in safe mode.
            record: False to leave out the recorder of hook calls.
        """
        recorder = Recorder()
        made = dict(inline)
        settings = dict(config)
        if model is not None:
            made[MODEL_ID] = _model_plugin(model)
            settings.setdefault("agent.provider", MODEL_ID)
        if record:
            made[RECORDER_ID] = _recorder_plugin(recorder)
        folder = self._dists / str(next(self._opened))
        dists = [inline_dist(folder, plugin_id, plugin) for plugin_id, plugin in made.items()]
        folders = [str(folder), *(str(entry) for entry in path)]
        paths = find_paths({"PEGBOARD_HOME": str(self.home)})
        _keep_secrets(paths, secrets)
        with _importable(folders, dists):
            options = HostOptions(
                paths=paths,
                overrides=settings,
                workspace=self.workspace,
                safe=safe,
                only=(*plugins, *made),
                plugin_path=(*folders, *sys.path),
                env=_environment(),
                clock=clock or SystemClock(),
            )
            async with open_host(options) as host:
                yield HostUnderTest(host, self.home, self.workspace, recorder, model)


def _model_plugin(model: ScriptedModel) -> Plugin:
    plugin = Plugin(summary="Answers from the script of a test")
    plugin.contribute("provider", MODEL_ID, lambda context, settings: model)
    return plugin


def _recorder_plugin(recorder: Recorder) -> Plugin:
    """Return a plugin that implements every behaviour hook, and changes and judges nothing."""
    plugin = Plugin(summary="Records the hooks of a test")

    def observing(name: str) -> Any:
        def hook(event: Any) -> None:
            recorder.hook(name, event)

        hook.__name__ = name
        return hook

    for name in BEHAVIOUR_HOOKS:
        plugin.hook(observing(name))
    return plugin


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in KEPT if name in os.environ}


def _keep_secrets(paths: Paths, secrets: Mapping[str, str]) -> None:
    from pegboard.config.secrets import Secrets

    store = Secrets(paths, {}, backend="file")  # never the keyring of whoever runs the tests
    for name, value in secrets.items():
        store.set(name, value)


@contextmanager
def _importable(folders: list[str], dists: list[Dist]) -> Iterator[None]:
    """Put folders in front of `sys.path`, and let go of what was imported from them at the end."""
    sys.path[:0] = folders
    try:
        yield
    finally:
        for folder in folders:
            sys.path.remove(folder)
        for dist in dists:
            forget(dist)
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(tuple(folders)):
                del sys.modules[name]
