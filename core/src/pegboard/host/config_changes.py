"""Changes of the user's config.toml while a host runs, each agreed to by its owner."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread

from pegboard.config.edit import read_text, with_value, without_value
from pegboard.config.edit_tables import in_one_line, with_table
from pegboard.config.load import DEFAULT, Config
from pegboard.config.private_file import write_private
from pegboard.config.schema import CORE_SCHEMA, check
from pegboard.contracts.audit import Audit
from pegboard.contracts.caller import Caller
from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import ConfigError
from pegboard.contracts.result import ChangeConfig, Suspend
from pegboard.contracts.tool import RegisteredTool
from pegboard.policy.audit import audited
from pegboard.policy.control_plane import CONTROL_PLANE
from pegboard.policy.rules import RULES_KEY, read_rules
from pegboard.sandboxes import refused_grant

_GRANTS: Final = "sandbox.grants"
_INDEX: Final = re.compile(r"policy\.rules\[(\d+)\]")


class HostConfigChanges:
    """Changes the configuration of a running host; implements `ConfigChanges`.

    Args:
        config: The settings in force.
        load: Reads them again.
        taken: Told of the new settings after each change.
        tool: Returns a tool by its canonical name, or None.
        clock: Time.
        audit: Records changes.
    """

    def __init__(
        self,
        config: Config,
        *,
        load: Callable[[], Config],
        taken: Callable[[Config], None],
        tool: Callable[[str], RegisteredTool | None],
        clock: Clock,
        audit: Audit,
    ) -> None:
        self.config = config
        self._file = config.paths.config_file
        self._load = load
        self._taken = taken
        self._tool = tool
        self._clock = clock
        self._audit = audit
        self._lock = anyio.Lock()

    async def check(self, change: ChangeConfig) -> str:
        """Return a change as it would be written, for the owner to read.

        Raises:
            ConfigError: When the settings would be wrong then, or what is to be granted is never
                granted at the request of an agent.
        """
        await anyio.to_thread.run_sync(self._changed, change)
        sign = "+=" if change.add else "="
        first = _line(change.key, change.value, sign)
        return "\n".join([first, *(_line(key, value) for key, value in change.also.items())])

    async def make(self, change: ChangeConfig, caller: Caller) -> None:
        """Write a change and let the host go by it at once.

        Rules, what sandboxes may reach and which models are asked count at once; all else when the
        host starts again.

        Raises:
            ConfigError: When it can't be written, or the settings would be wrong then.
        """
        await self._write(partial(self._changed, change))

    async def allow(self, asked: Suspend, caller: Caller) -> None:
        """Write a rule that lets exactly this call of an operator pass from now on.

        It comes right before the rule that asked, so that what is refused before it stays refused.

        Raises:
            ConfigError: When it can't be written.
        """
        await self._write(partial(self._with_rule, asked, caller.agent))
        event = audited(
            "control_plane",
            CONTROL_PLANE,
            "allow",
            caller,
            at=self._clock.now(),
            tool=asked.tool,
            how="always",
        )
        await self._audit(event)

    async def _write(self, change: Callable[[], str]) -> None:
        async with self._lock:
            self.config = await anyio.to_thread.run_sync(self._written, change)
            self._taken(self.config)

    def _written(self, change: Callable[[], str]) -> Config:
        write_private(self._file, change())
        return self._load()

    def _changed(self, change: ChangeConfig) -> str:
        """Return the text of the file after a change."""
        keys = (change.key, *change.also)
        for key in keys:
            self._require_file(key)
        text = read_text(self._file)
        if change.add:
            _require(isinstance(change.value, Mapping), change.key)
            after = with_table(text, change.key, change.value, replaces=change.replaces)
        else:
            after = _with(text, change.key, change.value)
        for key, value in change.also.items():
            after = _with(after, key, value)
        for key in keys:
            self._require_right(after, key)
        return after

    def _with_rule(self, asked: Suspend, agent: str) -> str:
        """Return the text of the file with a rule for one call."""
        self._require_file(RULES_KEY)
        rule = {
            "action": "allow",
            "tool": asked.tool,
            "trust": "operator",
            **({"agent": agent} if agent != "main" else {}),
            "exact": self._arguments(asked),
        }
        text = read_text(self._file)
        listed = _rules_of(tomllib.loads(text))
        after = with_table(text, RULES_KEY, rule, at=self._place(asked.rule, listed))
        self._require_right(after, RULES_KEY)
        return after

    def _arguments(self, asked: Suspend) -> dict[str, Any]:
        """Return the arguments of a call that are not as they are by default."""
        tool = self._tool(asked.tool)
        known = {} if tool is None else tool.spec.parameters.get("properties", {})
        return {
            name: value
            for name, value in asked.arguments.items()
            if value is not None and known.get(name, {}).get("default", asked) != value
        }

    def _place(self, rule: str, listed: Sequence[Any]) -> int | None:
        """Return where the rule that asked stands in the file now; None = it is not there."""
        match = _INDEX.fullmatch(rule)
        rules = self.config.get(RULES_KEY, ())
        if match is None or int(match[1]) >= len(rules):
            return None
        asking = rules[int(match[1])]
        return listed.index(asking) if asking in listed else None

    def _require_file(self, key: str) -> None:
        """Refuse to write what would not count.

        Raises:
            ConfigError: When the key is set where that comes before the user's file.
        """
        place = self.config.source(key)
        if place not in (DEFAULT, str(self._file)):
            raise ConfigError(
                f"{key} is set in {place}, which counts before {self._file}",
                fix=f"change {key} there",
                path=key,
            )

    def _require_right(self, text: str, key: str) -> None:
        data = tomllib.loads(text)
        for problem in check(data, CORE_SCHEMA):
            if problem.path.startswith(key):
                raise ConfigError(problem.message, fix=problem.fix, path=problem.path)
        read_rules(_rules_of(data))
        if key == _GRANTS:
            self._require_safe(data["sandbox"]["grants"])

    def _require_safe(self, grants: Sequence[Mapping[str, Any]]) -> None:
        """Refuse new grants that no agent may ask for."""
        paths = self.config.paths
        protected = (paths.config, paths.state, paths.data, paths.cache)
        for grant in grants:
            if grant in self.config.get(_GRANTS, ()):
                continue
            reason = refused_grant(
                Path(grant["path"]), grant.get("mode", "ro"), protected=protected
            )
            if reason is not None:
                raise ConfigError(
                    f"{grant['path']} can't be granted: {reason}",
                    fix="Do without it, or ask for a folder below it.",
                )


def _with(text: str, key: str, value: Any) -> str:
    return without_value(text, key) if value is None else with_value(text, key, value)


def _line(key: str, value: Any, sign: str = "=") -> str:
    return f"  {key} is removed" if value is None else f"  {key} {sign} {in_one_line(value)}"


def _require(holds: bool, key: str) -> None:
    if not holds:
        raise ConfigError(f"only tables can be added to {key}")


def _rules_of(data: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    policy = data.get("policy")
    rules = policy.get("rules", ()) if isinstance(policy, Mapping) else ()
    return rules if isinstance(rules, list) else ()
