"""Calls during which a host died, as `status`, `doctor` and `plugins why` show them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pegboard.cli.session import Session
from pegboard.cli.stored import reading
from pegboard.contracts.errors import StoreError

if TYPE_CHECKING:
    from pegboard.plugins.decision.state import PluginRecord
    from pegboard.store.fatal_calls import FatalCall

_CORE: Final = "core"


class FatalTool(NamedTuple):
    """A tool during whose calls the host died.

    Args:
        tool: Canonical name.
        plugin: Id of its plugin.
        conversations: The conversations, as far as they are kept.
        times: How often it was.
        at: The last time, in seconds since the epoch.
        fix: What mends it.
    """

    tool: str
    plugin: str
    conversations: tuple[str, ...]
    times: int
    at: float
    fix: str

    def sentence(self) -> str:
        """Return what happened, as a person reads it."""
        often = "" if self.times == 1 else f" {self.times} times"
        where = f" of conversation {' and '.join(self.conversations)}" if self.conversations else ""
        return f"The host died{often} while {self.tool}{where} ran."


def fatal_tools(session: Session, plugin: str = "") -> list[FatalTool]:
    """Return the tools during whose calls a host died in the last week, the latest first.

    Another version of a plugin is given another chance: what an earlier one did is not told.

    Args:
        session: The command.
        plugin: Only the tools of this plugin; "" = of all.
    """
    from pegboard.store.fatal_calls import FatalCalls, conversations_of, distinct, of_dead_hosts
    from pegboard.store.migrations import MIGRATIONS, version_of
    from pegboard.store.workers import living

    state = session.paths.state
    # the system's clock, as hosts use: this is about what they wrote
    found = FatalCalls(state).recent(time.time())
    keys: dict[str, str] = {}
    # a store that can't be read is told by what is about the store
    with suppress(StoreError), reading(session, turns=False) as connection:
        if connection is not None and version_of(connection) >= MIGRATIONS[-1].version:
            found = distinct([*found, *of_dead_hosts(connection, living(state))])
            keys = conversations_of(connection, {call.turn for call in found})
    return _by_tool(session, [call for call in found if plugin in ("", call.plugin)], keys)


def _by_tool(session: Session, calls: Iterable[FatalCall], keys: dict[str, str]) -> list[FatalTool]:
    found: dict[str, list[FatalCall]] = {}
    for call in calls:
        record = session.boot.get(call.plugin)
        if call.plugin != _CORE and (record is None or call.version not in ("", record.version)):
            continue
        found.setdefault(call.tool, []).append(call)
    tools = [
        FatalTool(
            tool,
            same[0].plugin,
            tuple(dict.fromkeys(keys[call.turn] for call in same if call.turn in keys)),
            len(same),
            max(call.at for call in same),
            _fix(session.boot.get(same[0].plugin), tool),
        )
        for tool, same in found.items()
    ]
    return sorted(tools, key=lambda tool: tool.at, reverse=True)


def _fix(record: PluginRecord | None, tool: str) -> str:
    from pegboard.plugins.decision.mending import is_authored, mend_tool

    # where a tool of Pegboard's own was at work, the host was likelier killed than brought down
    if record is None or record.first_party:
        return "pegboard logs"
    fix = f"pegboard plugins disable {record.id}"
    if is_authored(record.found):
        fix = mend_tool(record.found, tool.rpartition(":")[2])
    # what ran need not be to blame: `kill -9`, a full memory or a power cut leave the same traces
    return f"unless it was ended from outside: {fix}"


def fatal_json(tools: Sequence[FatalTool]) -> list[dict[str, Any]]:
    """Return the tools as `--json` shows them."""
    return [tool._asdict() for tool in tools]
