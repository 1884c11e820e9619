"""The folders that runs work in, each with its own sandbox, instructions and settings."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from pegboard.config.load import PROJECT_FILE, Config
from pegboard.config.trust import FolderTrust
from pegboard.contracts.caller import NO_FILTER, ToolFilter
from pegboard.contracts.errors import ConfigError
from pegboard.contracts.sandbox import Sandbox
from pegboard.host.agents import Agents
from pegboard.host.instances import Instances
from pegboard.host.prompts import Prompts
from pegboard.host.workspace import Workspace

MOST: Final = 32
"""Folders that are kept open beside the host's own; those in use are, whatever their number."""
_OWN: Final = ("agent.", "sandbox.", "tools.allowed", "tools.excluded")
"""What settings of a folder can say while a host serves other folders as well."""
_NOT_OWN: Final = frozenset({"agent.failover_mid_run"})
"""What they can't say all the same."""

LoadConfig = Callable[[Path | None], Config]
"""Returns the settings with those of a trusted folder, or without any folder's."""
Stamp = tuple[int, int] | None
"""What tells one version of a folder's own settings from another; None = none count."""


class Place:
    """One folder, as runs find it.

    Args:
        workspace: The folder and its sandbox.
        config: The settings that count there.
        agents: The named agents, as those settings have them.
        trust: Knows whether the person trusts the folder.
        own_filter: What the folder's settings leave out beside the operator's own filter.
        stamp: Version of those settings.
    """

    def __init__(
        self,
        workspace: Workspace,
        config: Config,
        agents: Agents,
        trust: FolderTrust,
        own_filter: ToolFilter = NO_FILTER,
        stamp: Stamp = None,
    ) -> None:
        self.workspace = workspace
        self.folder = workspace.folder
        self.config = config
        self.agents = agents
        self.prompts = Prompts(agents, workspace.folder, trust)
        self.filter = own_filter
        self.stamp = stamp


class Places:
    """The folders of a host's runs. The first is its own.

    Args:
        folder: The host's own folder.
        config: The settings in force.
        agents: The named agents.
        instances: Where sandboxes come from.
        trust: Knows which folders the person trusts.
        load: Reads the settings for another folder.
        own_settings: True when `config` has the settings of the host's own folder in it.
    """

    def __init__(
        self,
        folder: Path,
        config: Config,
        agents: Agents,
        instances: Instances,
        *,
        trust: FolderTrust,
        load: LoadConfig,
        own_settings: bool = False,
    ) -> None:
        self._instances = instances
        self._trust = trust
        self._load = load
        self._own_settings = own_settings
        workspace = Workspace(folder, config, instances)
        self.own = Place(workspace, config, agents, trust)
        self._others: OrderedDict[Path, Place] = OrderedDict()
        self._users: dict[str, Place] = {}
        self._leaving: list[Place] = []
        self._lock = anyio.Lock()

    @property
    def folder(self) -> Path:
        """The host's own folder."""
        return self.own.folder

    async def at(self, folder: Path | None, *, run: str = "") -> Place:
        """Return a place; None = the host's own.

        Args:
            folder: An absolute path.
            run: Id of the run that uses it until `leave`; "" = whoever asks has it in use already.

        Raises:
            ConfigError: When the folder has settings that can't count for it alone.
        """
        folder = self.folder if folder is None else folder
        if folder == self.folder and (self._own_settings or self._stamp(folder) is None):
            return self.own
        async with self._lock:
            place = self._others.get(folder)
            stamp = self._stamp(folder)
            if place is None or place.stamp != stamp:
                made = await anyio.to_thread.run_sync(self._made, folder, stamp)
                if place is not None:
                    self._leaving.append(place)
                place = self._others[folder] = made
            self._others.move_to_end(folder)
            if run:
                self._users[run] = place
            await self._tidy()
            return place

    def leave(self, run: str) -> None:
        """Let go of the place of a run that is over."""
        self._users.pop(run, None)

    async def sandbox(self) -> Sandbox:
        """Return the opened sandbox of the host's own folder."""
        return await self.own.workspace.sandbox()

    def forget(self) -> None:
        """Choose sandboxes again at the next run: some came or went."""
        for place in self._all():
            place.workspace.forget()

    def take(self, config: Config) -> None:
        """Go by other settings from the next run on."""
        self.own.config = config
        self.own.prompts.forget()
        self.own.workspace.take(config)
        self._leaving.extend(self._others.values())
        self._others.clear()

    async def aclose(self) -> None:
        """Close every sandbox."""
        places, self._leaving = [*self._leaving, *self._all()], []
        self._others.clear()
        for place in places:
            await place.workspace.aclose()

    def _all(self) -> list[Place]:
        return [self.own, *self._others.values()]

    def _stamp(self, folder: Path) -> Stamp:
        """Return the version of a folder's own settings; None when it has none that count."""
        try:
            found = (folder / PROJECT_FILE).stat()
        except OSError:
            return None
        return (found.st_mtime_ns, found.st_size) if self._trust.known(folder) else None

    def _made(self, folder: Path, stamp: Stamp) -> Place:
        config = self._load(None if stamp is None else folder)
        if stamp is not None:
            config.require_valid()
            _require_own(config, folder)
        workspace = Workspace(folder, config, self._instances)
        own_filter = _filter(config, folder)
        return Place(workspace, config, Agents(config), self._trust, own_filter, stamp)

    async def _tidy(self) -> None:
        """Close what nobody uses: places that were replaced, and those used longest ago."""
        used = set(map(id, self._users.values()))
        free = [folder for folder, place in self._others.items() if id(place) not in used]
        for folder in free[:-1][: max(0, len(self._others) - MOST)]:
            self._leaving.append(self._others.pop(folder))
        for place in [item for item in self._leaving if id(item) not in used]:
            self._leaving.remove(place)
            await place.workspace.aclose()


def _require_own(config: Config, folder: Path) -> None:
    """Refuse settings of a folder that a host can't go by in one folder alone.

    To leave them out would be worse: they may be what keeps the agent from something.

    Raises:
        ConfigError: With the first of them.
    """
    file = str(folder / PROJECT_FILE)
    for key, place in config.sources.items():
        if place == file and (key in _NOT_OWN or not key.startswith(_OWN)):
            raise ConfigError(
                f"{file} sets {key}, which a host that serves other folders too can't do for this "
                "one alone.",
                fix=f"move {key} to {config.paths.config_file}, or end the host: "
                "pegboard serve --stop",
                path=key,
            )


def _filter(config: Config, folder: Path) -> ToolFilter:
    """Return what the settings of a folder leave out."""
    file = str(folder / PROJECT_FILE)
    if not any(place == file and key.startswith("tools.") for key, place in config.sources.items()):
        return NO_FILTER
    tools = config.section("tools")
    allowed = tools.get("allowed")
    return ToolFilter(
        allowed_tools=None if allowed is None else frozenset(allowed),
        excluded_names=frozenset(tools.get("excluded", ())),
        excluded_categories=frozenset(tools.get("excluded_categories", ())),
    )
