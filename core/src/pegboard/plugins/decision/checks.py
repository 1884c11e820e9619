"""The checks that decide the state of one plugin, each a pure function.

A check returns None when there is nothing to say, else what it found; the first finding counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, Final, NamedTuple

from pegboard.config.core_schema import CORE, RESERVED
from pegboard.config.load import USER_FILE
from pegboard.config.nearest import did_you_mean
from pegboard.config.schema import check, schema_fault
from pegboard.contracts.capability import capability_fault
from pegboard.contracts.errors import ConfigError, ManifestError, PegboardError
from pegboard.contracts.hook_names import BEHAVIOUR_HOOKS
from pegboard.plugins.decision.situation import Candidate, Situation
from pegboard.plugins.decision.state import State
from pegboard.plugins.discovery.chat_command import KIND as CHAT_COMMAND
from pegboard.plugins.discovery.chat_command import chat_command_fault
from pegboard.plugins.discovery.first_party import is_first_party
from pegboard.plugins.discovery.requirements import applies
from pegboard.plugins.discovery.scan import FoundPlugin, normalized
from pegboard.plugins.discovery.versions import lowest, read_requirement, satisfies, version_key

_CORE_DIST: Final = "pegboard"
_API: Final = "hook API"
_ID: Final = "the name of the entry point"


class Finding(NamedTuple):
    """A state, and what a person should know about it."""

    state: State
    reason: str
    fix: str | None
    details: Mapping[str, Any] = {}


Check = Callable[[Candidate, Situation], Finding | None]


def blocked(candidate: Candidate, situation: Situation) -> Finding | None:
    """Find a distribution in the list of harmful ones."""
    found = candidate.found
    for block in situation.blocked:
        if normalized(block.dist) != normalized(found.dist):
            continue
        if block.below and _at_least(found.version, block.below):
            continue
        fix = (
            f"pip install '{found.dist}>={block.below}'"
            if block.below
            else _mending().uninstall(found)
        )
        more = f" ({block.link})" if block.link else ""
        reason = f"{found.dist} {found.version} is blocked: {block.reason}{more}"
        return Finding(State.BLOCKED, reason, fix, {"link": block.link})
    return None


def disabled(candidate: Candidate, situation: Situation) -> Finding | None:
    """Find that the operator does not want it."""
    plugin_id, config = candidate.found.id, situation.config
    if plugin_id in situation.disabled:
        place = config.source("plugins.disabled")
        own = place == config.paths.config_name(USER_FILE)
        fix = f"pegboard plugins enable {plugin_id}" if own else f"take it out of {place}"
        return Finding(State.DISABLED, f"plugins.disabled names it (in {place})", fix)
    if situation.only is not None and plugin_id not in situation.only:
        listed = ", ".join(sorted(situation.only)) or "none"
        where = situation.only_from or "this run"
        fix = f"unset {where}" if situation.only_from else "run again without naming plugins"
        return Finding(State.DISABLED, f"{where} asks for these plugins only: {listed}", fix)
    return None


def untrusted(candidate: Candidate, situation: Situation) -> Finding | None:
    """Find a third party's plugin in safe mode."""
    found = candidate.found
    if not situation.safe or is_first_party(found.id, found.dist):
        return None
    reason = f"safe mode loads only what Pegboard ships, and {found.dist} is not part of it"
    return Finding(State.UNTRUSTED, reason, "run again without --safe")


def malformed(candidate: Candidate, situation: Situation) -> Finding | None:
    """Find a distribution whose own files are broken, or an id that can't be one."""
    found = candidate.found
    if found.problem:
        return Finding(State.FAILED, f"{found.dist}: {found.problem}", _mending().reinstall(found))
    if not is_id(found.id):
        reason = (
            f"{found.dist}: {found.id!r} can't be the id of a plugin; an id has small letters, "
            "digits and single `-`, first a letter"
        )
        return Finding(
            State.FAILED, reason, _mending().mend_project(found, _ID, _mending().uninstall(found))
        )
    if found.id in RESERVED or found.id == CORE:
        reason = f"{found.dist}: the id {found.id!r} is reserved by Pegboard itself"
        return Finding(
            State.FAILED, reason, _mending().mend_project(found, _ID, _mending().uninstall(found))
        )
    if not _is_reference(found.value):
        reason = (
            f"{found.dist}: its entry point {found.value!r} is neither `module:object` nor `module`"
        )
        fix = _mending().mend_project(found, "the entry point", _mending().another_version(found))
        return Finding(State.FAILED, reason, fix)
    return None


def failed_before(candidate: Candidate, situation: Situation) -> Finding | None:
    """Find that these very files failed when they were last activated."""
    found = candidate.found
    failure = situation.failures.get(found.id)
    if failure is None or (failure.dist, failure.version) != (found.dist, found.version):
        return None
    if situation.retry_failed and not failure.crashed:
        return None
    if failure.stamp and failure.stamp != situation.stamp_of(found):
        return None  # another entry point, another copy, or an edit: it has not failed yet
    details = {"phase": failure.phase, "traceback": failure.traceback, "at": failure.at}
    if failure.crashed:
        reason = f"the whole process died while importing {found.dist} {found.version}"
        return Finding(State.FAILED, reason, _mending().crash_fix(found), details)
    last = failure.traceback.strip().rpartition("\n")[2].strip()
    what = failure.reason or f"{failure.phase} failed" + (f": {last[:300]}" if last else "")
    reason = f"{found.dist} {found.version}: {what}"
    return Finding(State.FAILED, reason, _mending().failure_fix(found, failure), details)


def incompatible(candidate: Candidate, situation: Situation) -> Finding | None:
    """Find that it was made for another Pegboard."""
    found, manifest, fault = candidate.found, candidate.manifest, candidate.fault
    if fault is not None and fault.details.get("newer"):
        return Finding(State.INCOMPATIBLE, f"{found.dist}: {fault.message}", fault.fix)
    if manifest is not None:
        finding = _out_of_range(found, _API, manifest.api, situation.api_version)
        if finding is not None:
            return finding
    for wanted in _core_ranges(found):
        finding = _out_of_range(found, "Pegboard", wanted, situation.core_version)
        if finding is not None:
            return finding
    return None


def broken_manifest(candidate: Candidate, situation: Situation) -> Finding | None:
    """Find a manifest that can't be used, or code that could not be built into one."""
    found, manifest, fault = candidate.found, candidate.manifest, candidate.fault
    if fault is not None:
        return Finding(
            State.FAILED,
            f"{found.dist}: {fault.message}",
            fault.fix or _fault_fix(found, fault),
            {"code": fault.code, **fault.details},
        )
    if manifest is None:
        return None
    for name in manifest.hooks:
        if name not in BEHAVIOUR_HOOKS:
            hint = did_you_mean(name, BEHAVIOUR_HOOKS)
            reason = f"{found.dist}: it implements the hook {name!r}, which does not exist{hint}"
            return Finding(State.FAILED, reason, _mending().mend_code(found, again=_build(found)))
    return _forbidden_capability(candidate) or _wrong_chat_command(candidate)


def _forbidden_capability(candidate: Candidate) -> Finding | None:
    """Find a tool that would open to scripts what is never delegated to any."""
    found, manifest = candidate.found, candidate.manifest
    for tool in manifest.tools if manifest is not None else ():
        if tool.get("capability") is None:
            continue
        names = (tool["name"], *tool.get("aliases", ()))
        fault = capability_fault(names, tool["capability"], tool.get("control"))
        if fault is not None:
            reason = f"{found.dist}: its tool {tool['name']} is refused: {fault}"
            fix = _mending().mend_code(found, again=_build(found))
            return Finding(State.FAILED, reason, fix, {"tool": tool["name"]})
    return None


def _wrong_chat_command(candidate: Candidate) -> Finding | None:
    """Find a chat command that calls nothing: a manifest may be written by hand."""
    found, manifest = candidate.found, candidate.manifest
    for fact in manifest.contributions if manifest is not None else ():
        if manifest is None or fact.kind != CHAT_COMMAND:
            continue
        fault = chat_command_fault(fact, manifest.tools)
        if fault:
            reason = f"{found.dist}: its chat command /{fact.name} is wrong: {fault}"
            return Finding(State.FAILED, reason, _mending().mend_code(found, again=_build(found)))
    return None


def missing_need(candidate: Candidate, situation: Situation) -> Finding | None:
    """Find a program or a secret that is not there; other plugins are looked at later."""
    if candidate.manifest is None:
        return None
    needs = candidate.manifest.needs
    for name in needs.get("binaries", ()):
        if not situation.has_binary(name):
            reason = f"it needs the program {name!r}, which is not on PATH"
            return Finding(
                State.MISSING_NEED,
                reason,
                f"install {name}; `command -v {name}` must find it",
                {"binary": name},
            )
    for name in needs.get("secrets", ()):
        try:
            if situation.has_secret(name):
                continue
            reason, fix = f"it needs the secret {name!r}, which is not set", None
        except ConfigError as error:
            reason, fix = f"it needs the secret {name!r}: {error.message}", error.fix
        fix = fix or f"pegboard secret set {name}"
        return Finding(State.MISSING_NEED, reason, fix, {"secret": name})
    return None


def misconfigured(candidate: Candidate, situation: Situation) -> Finding | None:
    """Find settings that its schema refuses."""
    found, manifest = candidate.found, candidate.manifest
    if manifest is None:
        return None
    where = f"plugins.{found.id}"
    settings = situation.config.section("plugins").get(found.id, {})
    schema = manifest.config
    if not settings and (schema is None or not ("required" in schema or "$ref" in schema)):
        return None
    problems = check(settings, schema or {"type": "object", "additionalProperties": False}, where)
    if not problems:
        return None
    broken = schema_fault(schema or {})
    if broken:
        reason = f"{found.dist}: the schema of its settings {broken}"
        return Finding(State.FAILED, reason, _mending().mend_code(found, again=_build(found)))
    first, *others = [situation.config.located(problem) for problem in problems]
    reason = first.message + (f"; {len(others)} more" if others else "")
    details = {"problems": [problem._asdict() for problem in (first, *others)]}
    fix = first.fix or f"pegboard plugins show {found.id}"
    return Finding(State.MISCONFIGURED, reason, fix, details)


def conflict(found: FoundPlugin, rivals: list[FoundPlugin]) -> Finding:
    """Say that several distributions have one id; `rivals` holds all of them."""
    dists = sorted(rival.dist for rival in rivals)
    keep = [rival for rival in rivals if is_first_party(rival.id, rival.dist)] or [
        min(rivals, key=lambda rival: rival.dist)
    ]
    others = [dist for dist in dists if dist != keep[0].dist]
    reason = f"the distributions {' and '.join(dists)} both have a plugin {found.id!r}"
    fix = f"pip uninstall {' '.join(others)}" if others else _mending().uninstall(found)
    return Finding(State.CONFLICT, reason, fix, {"dists": dists})


def is_id(text: str) -> bool:
    """Say whether a text can be the id of a plugin: `web`, `provider-openai`."""
    plain = text.isascii() and text[:1].isalpha() and text == text.lower()
    return plain and all(part.isalnum() for part in text.split("-"))


EXCLUSIONS: Final[tuple[Check, ...]] = (blocked, disabled, untrusted)
"""Reasons for which a plugin is left out, whatever else is true of it."""

CHECKS: Final[tuple[Check, ...]] = (
    malformed,
    failed_before,
    incompatible,
    broken_manifest,
    missing_need,
    misconfigured,
)


def _core_ranges(found: FoundPlugin) -> Iterator[str]:
    """Yield the ranges of Pegboard that a distribution asks for here."""
    for line in found.requires:
        if line[: len(_CORE_DIST)].lower() != _CORE_DIST:
            continue  # most lines; reading each one properly costs more
        try:
            requirement = read_requirement(line)
        except ValueError:
            continue
        if normalized(requirement.name) == _CORE_DIST and applies(requirement.marker):
            yield requirement.range


def _out_of_range(found: FoundPlugin, what: str, wanted: str, have: str) -> Finding | None:
    try:
        if satisfies(have, wanted):
            return None
        bound = lowest(wanted)
    except ValueError as error:
        reason = f"{found.dist}: its range of the {what} can't be read: {error}"
        return Finding(State.INCOMPATIBLE, reason, _range_fix(found, what))
    older = bound is not None and version_key(bound) > version_key(have)
    reason = f"{found.dist} {found.version} works with {what} {wanted}; this is {what} {have}"
    fix = "pip install --upgrade pegboard" if older else _range_fix(found, what)
    return Finding(State.INCOMPATIBLE, reason, fix, {"wanted": wanted, "have": have})


def _is_reference(value: str) -> bool:
    """Tell whether this names an object of a module, or a module that is a plugin itself."""
    module, colon, name = value.partition(":")
    parts = [*module.split("."), *(name.split(".") if colon else ())]
    return all(part.isidentifier() for part in parts)


def _at_least(version: str, bound: str) -> bool:
    try:
        return version_key(version) >= version_key(bound)
    except ValueError:
        return False


def _range_fix(found: FoundPlugin, what: str) -> str:
    """Return what mends a range that leaves out this Pegboard: code states the API's."""
    from pegboard.plugins.decision.mending import another_version, mend_code, mend_project

    if what == _API:
        return mend_code(found, again=_build(found))
    return mend_project(found, f"the range of {what}", another_version(found))


def _fault_fix(found: FoundPlugin, fault: PegboardError) -> str:
    from pegboard.plugins.decision.mending import mend_code, mend_manifest, reinstall

    if "traceback" in fault.details:
        return mend_code(found, str(fault.details["traceback"]))
    return mend_manifest(found) if isinstance(fault, ManifestError) else reinstall(found)


def _build(found: FoundPlugin) -> str:
    return f"pegboard plugins build {found.id}"


def _mending() -> ModuleType:
    """Return what knows how to mend a plugin; where all are well a boot does without it."""
    from pegboard.plugins.decision import mending

    return mending
