"""Decide the state of every plugin: pure functions from what boot has read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pegboard.plugins.decision.checks import CHECKS, EXCLUSIONS, Check, Finding, conflict
from pegboard.plugins.decision.order import order
from pegboard.plugins.decision.situation import Candidate, Situation
from pegboard.plugins.decision.state import PluginRecord, State
from pegboard.plugins.discovery.first_party import (
    HOST_SERVICES,
    SERVICE_PACKAGES,
    is_first_party,
    package_of,
)
from pegboard.plugins.discovery.scan import normalized
from pegboard.plugins.discovery.versions import read_name


def decide(candidates: Sequence[Candidate], situation: Situation) -> tuple[PluginRecord, ...]:
    """Return every plugin with its state: those that can be used in order, the others by id.

    What excludes a plugin (blocked, disabled, untrusted) comes first, so that it can't be in
    conflict with one that is wanted. Then: two of one id, the plugin alone, and the plugins it
    needs and the order, until both hold.
    """
    records = [_judge(candidate, situation, EXCLUSIONS) for candidate in candidates]
    rivals = _rivals(records)
    judged: list[PluginRecord] = []
    for candidate, record in zip(candidates, records, strict=True):
        if not record.usable:
            judged.append(record)
        elif len(rivals[record.id]) > 1:
            same = [rival.found for rival in rivals[record.id]]
            judged.append(_with(record, conflict(record.found, same)))
        else:
            judged.append(_judge(candidate, situation, CHECKS))
    return _ordered(judged)


def _judge(candidate: Candidate, situation: Situation, checks: Iterable[Check]) -> PluginRecord:
    found = candidate.found
    record = PluginRecord(
        found,
        candidate.manifest,
        State.READY,
        first_party=is_first_party(found.id, found.dist),
    )
    for check in checks:
        finding = check(candidate, situation)
        if finding is not None:
            return _with(record, finding)
    if candidate.manifest is None or candidate.built:
        reason = "it has no plugin.json, so it is imported at every start"
        finding = Finding(State.UNMANIFESTED, reason, f"pegboard plugins build {found.id}")
        return _with(record, finding)
    return record


def _with(record: PluginRecord, finding: Finding) -> PluginRecord:
    return record._replace(
        state=finding.state, reason=finding.reason, fix=finding.fix, details=finding.details
    )


def _rivals(records: Iterable[PluginRecord]) -> Mapping[str, list[PluginRecord]]:
    groups: dict[str, list[PluginRecord]] = {}
    for record in records:
        if record.usable:
            groups.setdefault(record.id, []).append(record)
    return groups


def _without_unmet(records: Sequence[PluginRecord]) -> list[PluginRecord]:
    """Take out the plugins whose needed plugins or services are not there, until all fits."""
    current = list(records)
    while True:
        usable = {record.id: record for record in current if record.usable}
        offered = HOST_SERVICES.union(
            service
            for record in usable.values()
            if record.manifest is not None
            for service in record.manifest.services
        )
        changed = False
        for index, record in enumerate(current):
            finding = _unmet(record, usable, offered, current) if record.usable else None
            if finding is not None:
                current[index] = _with(record, finding)
                changed = True
        if not changed:
            return current


def _unmet(
    record: PluginRecord,
    usable: Mapping[str, PluginRecord],
    offered: Collection[str],
    records: Sequence[PluginRecord],
) -> Finding | None:
    needs = record.manifest.needs if record.manifest is not None else {}
    for plugin_id in needs.get("plugins", ()):
        if plugin_id not in usable:
            return _needed_plugin(record, plugin_id, records)
    for service in needs.get("services", ()):
        if service not in offered:
            return _needed_service(service, records)
    return None


def _needed_plugin(
    record: PluginRecord, plugin_id: str, records: Sequence[PluginRecord]
) -> Finding:
    details = {"plugin": plugin_id}
    for other in records:
        if other.id == plugin_id:
            reason = f"it needs the plugin {plugin_id}, which is {other.state}: {other.reason}"
            return Finding(State.MISSING_NEED, reason, other.fix, details)
    required = [read_name(line) for line in record.found.requires]
    package = package_of(plugin_id) or next(
        (name for name in required if normalized(name).endswith(normalized(plugin_id))), None
    )
    reason = f"it needs the plugin {plugin_id}, which is not installed"
    return Finding(
        State.MISSING_NEED, reason, f"pip install {package or 'pegboard-' + plugin_id}", details
    )


def _needed_service(service: str, records: Sequence[PluginRecord]) -> Finding:
    details = {"service": service}
    for other in records:
        if other.manifest is not None and service in other.manifest.services:
            reason = (
                f"it needs the service {service!r} of the plugin {other.id}, which is "
                f"{other.state}: {other.reason}"
            )
            return Finding(State.MISSING_NEED, reason, other.fix, details)
    package = SERVICE_PACKAGES.get(service)
    reason = f"it needs the service {service!r}, which no installed plugin offers"
    fix = f"pip install {package}" if package else f"install a plugin that offers {service!r}"
    return Finding(State.MISSING_NEED, reason, fix, details)


def _ordered(records: Sequence[PluginRecord]) -> tuple[PluginRecord, ...]:
    current = _without_unmet(records)
    found = order(record for record in current if record.usable)
    while found.cycles:
        circles = {plugin_id: cycle for cycle in found.cycles for plugin_id in cycle}
        current = _without_unmet([_placed(record, circles) for record in current])
        found = order(record for record in current if record.usable)
    usable = {record.id: record for record in current if record.usable}
    rest = [record for record in current if not record.usable]
    return (
        *(usable[plugin_id] for plugin_id in found.ids),
        *sorted(rest, key=lambda record: (record.id, record.dist)),
    )


def _placed(record: PluginRecord, circles: Mapping[str, Sequence[str]]) -> PluginRecord:
    if record.usable and record.id in circles:
        return _with(record, _in_cycle(circles[record.id]))
    return record


def _in_cycle(cycle: Sequence[str]) -> Finding:
    path = " -> ".join([*cycle, cycle[0]])
    return Finding(
        State.CONFLICT,
        f"its place in the order goes round in a circle: {path}",
        f"pegboard plugins disable {max(cycle)}",
        {"cycle": list(cycle)},
    )
