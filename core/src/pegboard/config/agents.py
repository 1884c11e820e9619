"""What is wrong with the names of agents: their own, those they delegate to, those of channels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pegboard.config.keys import join_key
from pegboard.config.nearest import did_you_mean, nearest
from pegboard.config.schema import Problem

MAIN: Final = "main"
"""The agent that is there without a table."""
_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


def agent_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what a schema can't say of named agents: names that do not exist, or exist twice.

    Args:
        data: All settings; what is of a wrong type is left to the schema.
    """
    agents = _tables(data.get("agents"))
    names = {MAIN, *agents}
    subs = {name for name, table in agents.items() if table.get("role") == "sub"}
    for name, table in agents.items():
        path = f"agents.{join_key([name])}"
        if not _ID.fullmatch(name):
            yield Problem(
                path,
                f"{path}: an agent's name has lower-case letters, digits, `-` and `_`, at most 63",
                f"pegboard config unset {path}",
            )
        yield from _delegates(name, table, f"{path}.delegates", names)
    if MAIN in subs:
        yield Problem(
            "agents.main.role",
            "agents.main.role: main answers people, so it can't be sub",
            "pegboard config unset agents.main.role",
        )
    yield from _mapped(data, names, subs)
    yield from _senders(agents, subs)


def _delegates(
    name: str, table: Mapping[str, Any], path: str, names: set[str]
) -> Iterator[Problem]:
    given = table.get("delegates", ())
    if not isinstance(given, (list, tuple)):
        return
    for other in given:
        if not isinstance(other, str) or (other in names and other != name):
            continue
        right = [item for item in given if item in names and item != name]
        if other == name:
            what = "an agent can't delegate to itself"
        else:
            what = f"there is no agent {other!r}{did_you_mean(other, names - {name})}"
            meant = nearest(other, names - {name})
            right = [meant if item == other else item for item in given] if meant else right
        listed = ", ".join(f'"{item}"' for item in right)
        yield Problem(path, f"{path}: {what}", f"pegboard config set {path} '[{listed}]'")


def _mapped(data: Mapping[str, Any], names: set[str], subs: set[str]) -> Iterator[Problem]:
    """Yield the channels whose agent does not exist, or does not talk to people."""
    for channel, table in _tables(data.get("channels")).items():
        agent = table.get("agent")
        path = f"channels.{join_key([channel])}.agent"
        if not isinstance(agent, str) or agent in names - subs:
            continue
        if agent in subs:
            yield _silent(path, agent)
            continue
        meant = nearest(agent, names - subs)
        fix = f"pegboard config set {path} {meant}" if meant else f"pegboard config unset {path}"
        hint = did_you_mean(agent, names - subs)
        yield Problem(path, f"{path}: there is no agent {agent!r}{hint}", fix)


def _senders(agents: Mapping[str, Mapping[str, Any]], subs: set[str]) -> Iterator[Problem]:
    taken: dict[str, str] = {}
    for name, table in agents.items():
        path = f"agents.{join_key([name])}.senders"
        given = table.get("senders", ())
        if not isinstance(given, (list, tuple)) or not given:
            continue
        if name in subs:
            yield _silent(path, name)
        for sender in filter(lambda item: isinstance(item, str), given):
            first = taken.setdefault(sender, name)
            if first != name:
                yield Problem(
                    path,
                    f"{path}: {sender!r} is answered by {first} already",
                    f"remove {sender!r} from {path}",
                )


def _silent(path: str, agent: str) -> Problem:
    return Problem(
        path,
        f"{path}: the agent {agent!r} has the role sub, so it talks to nobody",
        f"pegboard config set agents.{join_key([agent])}.role main",
    )


def _tables(value: object) -> dict[str, Mapping[str, Any]]:
    if not isinstance(value, Mapping):
        return {}
    return {name: table for name, table in value.items() if isinstance(table, Mapping)}
