"""Boot: read config, scan, read manifests, decide, order. Imports no plugin."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Final

from pegboard.config.core_schema import RESERVED
from pegboard.config.load import Config
from pegboard.config.nearest import did_you_mean, nearest
from pegboard.config.paths import Paths
from pegboard.config.schema import Problem
from pegboard.config.secrets import Secrets
from pegboard.contracts.errors import ManifestError, PegboardError, PluginError, UsageError
from pegboard.plugins.decision.decide import decide
from pegboard.plugins.decision.failures import FailureStore
from pegboard.plugins.decision.situation import (
    Block,
    Candidate,
    Situation,
    binary_finder,
    read_blocked,
)
from pegboard.plugins.decision.state import PluginRecord
from pegboard.plugins.discovery.first_party import package_of
from pegboard.plugins.discovery.manifest import ContributionFact, Manifest, read
from pegboard.plugins.discovery.scan import FoundPlugin, PathListing, scan

ONLY_VARIABLE: Final = "PEGBOARD_PLUGINS"


class Boot:
    """Every plugin with its state, in order. Never changes.

    Args:
        records: What can be used, in the order in which hooks and contributions count; then the
            rest, by id.
        problems: What is wrong beside the plugins themselves (unknown ids, unknown keys).
        config: The settings.
        safe: True when only first-party plugins are loaded.
        only: The ids that were asked for, or None.
        path: Where plugins were looked for; None = `sys.path`.
        installed: Normalised names of all distributions that are there, plugins or not.
    """

    __slots__ = (
        *("_basis", "_by_id", "config", "installed", "only", "path", "problems", "records"),
        "safe",
    )

    def __init__(
        self,
        records: tuple[PluginRecord, ...],
        problems: tuple[Problem, ...],
        config: Config,
        *,
        safe: bool = False,
        only: tuple[str, ...] | None = None,
        path: tuple[str, ...] | None = None,
        installed: frozenset[str] = frozenset(),
        basis: tuple[tuple[Candidate, ...], Situation] | None = None,
    ) -> None:
        self.records = records
        self.problems = problems
        self.config = config
        self.safe = safe
        self.only = only
        self.path = path
        self.installed = installed
        self._basis = basis
        # Of two distributions with one id, the usable one comes first and so is the one found.
        self._by_id = {record.id: record for record in reversed(records)}

    @property
    def paths(self) -> Paths:
        """The folders."""
        return self.config.paths

    @property
    def usable(self) -> tuple[PluginRecord, ...]:
        """The plugins that can be activated, in order."""
        return tuple(record for record in self.records if record.usable)

    def get(self, plugin_id: str) -> PluginRecord | None:
        """Return one plugin, or None when it is not installed."""
        return self._by_id.get(plugin_id)

    def record(self, plugin_id: str) -> PluginRecord:
        """Return one plugin.

        Raises:
            PluginError: When it is not installed; the message suggests another id or a package.
        """
        record = self.get(plugin_id)
        if record is not None:
            return record
        message, fix = _not_installed(plugin_id, set(self._by_id))
        raise PluginError(message, fix=fix, plugin=plugin_id)

    def contributions(self, kind: str) -> tuple[tuple[PluginRecord, ContributionFact], ...]:
        """Return what usable plugins contribute of one kind, in order."""
        return tuple(
            (record, fact)
            for record in self.usable
            if record.manifest is not None
            for fact in record.manifest.contributions
            if fact.kind == kind
        )

    def adopt(self, built: Mapping[str, Manifest | PegboardError]) -> Boot:
        """Decide again, with manifests that were built from the code of unmanifested plugins.

        Args:
            built: Plugin id -> its manifest, or why there is none.
        """
        if self._basis is None or not built:
            return self
        before, situation = self._basis
        candidates = tuple(_adopted(candidate, built) for candidate in before)
        return Boot(
            decide(candidates, situation),
            self.problems,
            self.config,
            safe=self.safe,
            only=self.only,
            path=self.path,
            installed=self.installed,
            basis=(candidates, situation),
        )


def boot(
    config: Config,
    *,
    safe: bool = False,
    only: Sequence[str] | None = None,
    path: Sequence[str] | None = None,
    retry_failed: bool = False,
    enforce_required: bool = True,
    again: bool = False,
    blocked: Sequence[Block] | None = None,
    env: Mapping[str, str] = os.environ,
    timings: MutableMapping[str, float] | None = None,
) -> Boot:
    """Decide the state of every installed plugin.

    Args:
        config: The settings.
        safe: Load only first-party plugins.
        only: Load only these; None = what `PEGBOARD_PLUGINS` says, else all.
        path: Folders to look in; None = `sys.path`.
        retry_failed: True for a host, which gives a failed (not a crashed) plugin another try.
        enforce_required: False for commands that manage plugins, which must work at any time.
        again: True for another look of a running host, in which a plugin that was asked for, or is
            required, may have gone.
        blocked: Distributions that are known to do harm; None = the list that Pegboard ships.
        env: The environment.
        timings: Filled with seconds: `scan`, `manifests`, `decide`, and `manifest:ID` of each.

    Raises:
        UsageError: When `only` names a plugin that is not installed.
        PluginError: When a required plugin can't be used and `plugins.on_failure` is `abort`.
    """
    collecting = gc.isenabled()
    gc.disable()  # boot makes thousands of objects that stay, and no garbage
    try:
        asked, asked_in = _asked_for(only, env)
        situation = Situation(
            config,
            binary_finder(env),
            Secrets(config.paths, env).has,
            disabled=frozenset(_ids(config, "disabled")),
            only=None if asked is None else frozenset(asked),
            only_from=asked_in,
            safe=safe,
            blocked=read_blocked() if blocked is None else blocked,
            failures=FailureStore(config.paths).read(),
            retry_failed=retry_failed,
        )
        result = _boot(situation, asked, path, _Clock(timings), check=not again)
    finally:
        if collecting:
            gc.enable()
    if enforce_required and not again:
        require(config, result.record)
    return result


def _boot(
    situation: Situation,
    asked: tuple[str, ...] | None,
    path: Sequence[str] | None,
    clock: _Clock,
    *,
    check: bool,
) -> Boot:
    config = situation.config
    listing = PathListing(path)
    found = scan(path, listing=listing)
    clock.lap("scan")
    if asked is not None and check:
        _check_asked(asked, situation.only_from, {plugin.id for plugin in found})
    candidates = tuple(_candidate(plugin, path, listing, clock) for plugin in found)
    clock.lap("manifests")
    records = decide(candidates, situation)
    clock.lap("decide")
    return Boot(
        records,
        (*config.problems, *_problems(config, records)),
        config,
        safe=situation.safe,
        only=asked,
        path=tuple(path) if path is not None else None,
        installed=listing.installed,
        basis=(candidates, situation),
    )


def require(config: Config, record_of: Callable[[str], PluginRecord]) -> None:
    """Raise when a required plugin can't be used and the operator wants that to count.

    Args:
        config: The settings.
        record_of: Returns a plugin, or raises when it is not installed.

    Raises:
        PluginError: With the first such plugin, why, and what to do.
    """
    if config.get("plugins.on_failure") != "abort":
        return
    for plugin_id in _ids(config, "required"):
        record = record_of(plugin_id)
        if not record.usable:
            raise PluginError(
                f"the required plugin {plugin_id} is {record.state}: {record.reason}",
                fix=record.fix,
                plugin=plugin_id,
                state=str(record.state),
            )


class _Clock:
    """Seconds by phase, when somebody wants to know."""

    def __init__(self, timings: MutableMapping[str, float] | None) -> None:
        self.timings = timings
        self._last = time.perf_counter()

    def lap(self, phase: str) -> None:
        now = time.perf_counter()
        if self.timings is not None:
            self.timings[phase] = now - self._last
        self._last = now


def _candidate(
    found: FoundPlugin, path: Sequence[str] | None, listing: PathListing, clock: _Clock
) -> Candidate:
    started = time.perf_counter()
    manifest: Manifest | None = None
    fault: PegboardError | None = None
    try:
        manifest = read(found, path, listing=listing) if found.value else None
    except ManifestError as error:
        fault = error
    except ModuleNotFoundError as error:
        fault = PluginError(f"its module {error.name!r} can't be found", module=error.name)
    except Exception as error:  # an import hook of somebody else, on whose word we depend here
        words = f"{type(error).__name__}: {error}"
        fault = PluginError(f"looking for the module of {found.value} failed: {words}")
    if clock.timings is not None:
        clock.timings[f"manifest:{found.id}"] = time.perf_counter() - started
    return Candidate(found, manifest, fault)


def _adopted(candidate: Candidate, built: Mapping[str, Manifest | PegboardError]) -> Candidate:
    item = built.get(candidate.found.id)
    if item is None or candidate.manifest is not None:
        return candidate
    if isinstance(item, Manifest):
        return candidate._replace(manifest=item, built=True)
    return candidate._replace(fault=item)


def _asked_for(
    only: Sequence[str] | None, env: Mapping[str, str]
) -> tuple[tuple[str, ...] | None, str]:
    """Return the ids that are asked for, and the variable that asks; an empty one asks nothing."""
    if only is not None:
        return tuple(name.strip() for name in only), ""
    names = [name.strip() for name in env.get(ONLY_VARIABLE, "").split(",")]
    wanted = tuple(name for name in names if name)
    return (wanted, ONLY_VARIABLE) if wanted else (None, "")


def _check_asked(asked: Sequence[str], asked_in: str, installed: set[str]) -> None:
    for name in asked:
        if name in installed:
            continue
        best, package = nearest(name, installed), package_of(name)
        message, fix = _not_installed(name, installed)
        if best and not package:
            names = ",".join(best if other == name else other for other in asked)
            fix = f"export {asked_in}={names}" if asked_in else f"ask for {best}"
        raise UsageError(f"{asked_in or 'this run'} asks for {name!r}: {message}", fix=fix)


def _not_installed(plugin_id: str, installed: set[str]) -> tuple[str, str]:
    """Return message and fix for an id that nobody has."""
    package = package_of(plugin_id)
    if package:
        return f"the plugin {plugin_id!r} is not installed", f"pip install {package}"
    hint = did_you_mean(plugin_id, installed)
    return f"no plugin {plugin_id!r} is installed{hint}", "pegboard plugins list"


def _problems(config: Config, records: Sequence[PluginRecord]) -> Iterator[Problem]:
    """Yield what config says about plugins that are not there."""
    installed = {record.id for record in records}
    usable = {record.id: record for record in records if record.usable}
    for name, value in config.section("plugins").items():
        if name in RESERVED or name in installed or not isinstance(value, Mapping):
            continue
        yield _unknown(config, f"plugins.{name}", name, installed)
    for name in _ids(config, "disabled"):
        if name not in installed:
            problem = _unknown(config, "plugins.disabled", name, installed)
            yield problem._replace(fix=f"pegboard plugins enable {name}")  # takes it off the list
    for name in _ids(config, "required"):
        if name not in installed:
            problem = _unknown(config, "plugins.required", name, installed)
            yield problem._replace(fix=_required_fix(config, name, installed))
        elif name not in usable:
            record = next(record for record in records if record.id == name)
            message = f"the required plugin {name} is {record.state}: {record.reason}"
            yield Problem("plugins.required", message, record.fix)


def _unknown(config: Config, key: str, name: str, installed: set[str]) -> Problem:
    message, fix = _not_installed(name, installed)
    if package_of(name) is None:
        fix = f"pegboard config unset {key}"
    return config.located(Problem(key, f"{key}: {message}", fix))


def _required_fix(config: Config, name: str, installed: set[str]) -> str:
    package = package_of(name)
    if package:
        return f"pip install {package}"
    best = nearest(name, installed)
    names = [best if other == name else other for other in _ids(config, "required")]
    listed = ", ".join(f'"{other}"' for other in names if other)
    return f"pegboard config set plugins.required '[{listed}]'"


def _ids(config: Config, key: str) -> list[str]:
    names = config.get(f"plugins.{key}")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
