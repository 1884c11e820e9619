"""Compare a plugin's code with its manifest, which is what people have inspected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pegboard.contracts.errors import ManifestError
from pegboard.plugins.building.describe import Declaration
from pegboard.plugins.declaration import TOOL_MARK
from pegboard.plugins.discovery.manifest import FamilyFact, Manifest


def check_ceiling(manifest: Manifest, declared: Declaration) -> None:
    """Refuse code that does more than its manifest says, or something else.

    Names must be the same on both sides. Effects may be fewer in the code. Schemas and
    descriptions are not compared: those of the manifest count.

    Raises:
        ManifestError: With every difference.
    """
    found = [
        *_names("tool", (tool["name"] for tool in manifest.tools), declared.tools),
        *_names(
            "contribution",
            (f"{item.kind} {item.name}" for item in manifest.contributions),
            (f"{kind} {name}" for kind, name in declared.contributions),
        ),
        *_names("hook", manifest.hooks, declared.hooks),
        *_names("service", manifest.services, declared.services),
        *_names(
            "background service", manifest.background, (item.name for item in declared.backgrounds)
        ),
        *_names(
            "family",
            (family.prefix for family in manifest.families),
            (family.prefix for family in declared.families),
        ),
        *_tools(manifest, declared),
        *_families(manifest, declared),
        *_rest(manifest, declared),
    ]
    if found:
        raise ManifestError(
            f"plugin {manifest.id}: its code is not what its manifest says: {'; '.join(found)}",
            fix=f"pegboard plugins build {manifest.id}",
            differences=found,
        )


def _names(what: str, listed: Iterable[str], real: Iterable[str]) -> Iterator[str]:
    before, after = set(listed), set(real)
    for name in sorted(after - before):
        yield f"{what} {name} is not in the manifest"
    for name in sorted(before - after):
        yield f"{what} {name} is not in the code"


def _tools(manifest: Manifest, declared: Declaration) -> Iterator[str]:
    for listed in manifest.tools:
        tool = declared.tools.get(listed["name"])
        if tool is None:
            continue
        facts = getattr(tool, TOOL_MARK, None) or tool.spec
        where = f"tool {listed['name']}"
        yield from _effects(where, listed.get("effects"), facts.effects)
        if facts.audience != listed.get("audience", "any"):
            yield f"{where} is for {facts.audience}, not {listed.get('audience', 'any')}"
        for key in ("capability", "control"):
            if getattr(facts, key) != listed.get(key):
                yield f"{where} has another {key}: {getattr(facts, key)}, not {listed.get(key)}"


def _families(manifest: Manifest, declared: Declaration) -> Iterator[str]:
    real = {family.prefix: family for family in declared.families}
    for listed in manifest.families:
        family = real.get(listed.prefix)
        if family is None:
            continue
        where = f"family {listed.prefix}"
        yield from _effects(where, listed.effects, family.effects)
        same = FamilyFact(family.prefix, family.kind, listed.effects, family.audience)
        if same != listed:
            yield f"{where} is of another kind or audience"


def _effects(where: str, listed: Iterable[str] | None, real: Iterable[str] | None) -> Iterator[str]:
    if listed is None:  # unknown is the most dangerous already
        return
    if real is None:
        yield f"{where} has unknown effects"
        return
    more = sorted(set(real) - set(listed))
    if more:
        yield f"{where} has more effects: {', '.join(more)}"


def _rest(manifest: Manifest, declared: Declaration) -> Iterator[str]:
    for name in sorted(set(declared.secrets) - set(manifest.secrets)):
        yield f"secret {name} is not in the manifest"
    pairs: Mapping[str, tuple[Any, Any]] = {
        "lifespan": (manifest.lifespan, declared.lifespan is not None),
        "config": (manifest.config_ref, declared.info.config),
    }
    for what, (listed, real) in pairs.items():
        if listed != real:
            yield f"{what} differs"
    for hook, events in declared.hook_events.items():
        if hook in manifest.hooks and tuple(sorted(manifest.hooks[hook])) != events:
            yield f"hook {hook} wants other event types"
