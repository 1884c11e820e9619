"""One order of plugins: before and after as their manifests say, ties by id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pegboard.plugins.decision.state import PluginRecord


class Order(NamedTuple):
    """The ids in order, and the cycles that had to be left out (each begins with its lowest id)."""

    ids: tuple[str, ...]
    cycles: tuple[tuple[str, ...], ...] = ()


def order(records: Iterable[PluginRecord]) -> Order:
    """Order plugins; the same records give the same order, whatever order they come in.

    Ids that are not among the records are ignored, so `before = ["git"]` costs nothing where git is
    not installed. The members of a cycle are left out, and the rest is ordered without them.
    """
    graph = _graph(records)
    if not any(graph.values()):
        return Order(tuple(sorted(graph)))
    from graphlib import CycleError

    cycles: list[tuple[str, ...]] = []
    while True:
        try:
            return Order(tuple(_sorted(graph)), tuple(sorted(cycles)))
        except CycleError as error:
            members = list(dict.fromkeys(error.args[1]))
            start = members.index(min(members))
            cycles.append(tuple(members[start:] + members[:start]))
            graph = {
                plugin_id: earlier - set(members)
                for plugin_id, earlier in graph.items()
                if plugin_id not in members
            }


def _graph(records: Iterable[PluginRecord]) -> dict[str, set[str]]:
    """Return for each id the ids that come before it."""
    manifests = {record.id: record.manifest for record in records}
    graph: dict[str, set[str]] = {plugin_id: set() for plugin_id in sorted(manifests)}
    for plugin_id, manifest in manifests.items():
        if manifest is not None:
            graph[plugin_id].update(other for other in manifest.after if other in graph)
            for other in manifest.before:
                if other in graph:
                    graph[other].add(plugin_id)
    return graph


def _sorted(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the ids in order, always taking the lowest id that can be next.

    Raises:
        CycleError: When there is a cycle.
    """
    from graphlib import TopologicalSorter

    # Sorted, because the cycle that is found depends on the order, and that of a set on chance.
    sorter = TopologicalSorter({name: sorted(earlier) for name, earlier in graph.items()})
    sorter.prepare()
    ready: list[str] = []
    ids: list[str] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()])
        ids.append(ready.pop(0))
        sorter.done(ids[-1])
    return ids
