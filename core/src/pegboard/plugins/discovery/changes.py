"""What changes for a person who installs another version of a distribution. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pegboard.plugins.discovery.chat_command import KIND
from pegboard.plugins.discovery.tool_facts import policy_facts

if TYPE_CHECKING:
    from pegboard.plugins.discovery.inspect import Inspection
    from pegboard.plugins.discovery.manifest_fields import ContributionFact

_EDITABLE: Final = ("_editable_impl_", "__editable__")
"""How build tools name the link of an editable install: it is the install, not what it brings."""
_REQUIREMENT: Final = re.compile(r"(?P<name>[^<>=!~;]+)(?P<bounds>[^;]+)(?P<marker>.*)")


def diff(old: Inspection, new: Inspection) -> list[str]:
    """Return what changes for a person who has `old` and installs `new`, one line each.

    A line begins with `+` for what is new, `-` for what goes, `~` for what changes.
    """
    lines = []
    if old.version != new.version:
        lines.append(f"~ version {old.version or '?'} -> {new.version or '?'}")
    before, after = dict(_facts(old)), dict(_facts(new))
    for key in sorted(before.keys() | after.keys()):
        was, now = before.get(key), after.get(key)
        if was is None:
            lines.append(f"+ {key}" + (f" ({now})" if now else ""))
        elif now is None:
            lines.append(f"- {key}")
        elif was != now:
            lines.append(f"~ {key}: {was or 'none'} -> {now or 'none'}")
    return lines


def _facts(inspection: Inspection) -> Iterator[tuple[str, str]]:
    more = dict(_policy_facts(inspection))
    for name, effects in inspection.effects.items():
        words = "effects unknown" if effects is None else ", ".join(effects) or "no effects"
        yield f"tool {name}", "; ".join([words, *more.get(name, ())])
    for plugin_id, manifest in inspection.manifests.items():
        yield from ((f"secret {name}", "") for name in manifest.secrets)
        yield from (
            (f"hook {name} of {plugin_id}", ", ".join(manifest.hooks[name]))
            for name in manifest.hooks
        )
        yield from (
            (f"{fact.kind} {fact.name}", _called(fact) if fact.kind == KIND else "")
            for fact in manifest.contributions
        )
        yield from ((f"service {name}", "") for name in manifest.services)
        yield from ((f"background service {name}", "") for name in manifest.background)
        for kind, names in manifest.needs.items():
            yield from ((f"need of {kind}: {name}", "") for name in names)
        yield f"activation of {plugin_id}", manifest.activate
    yield from ((f"plugin {name}", value) for name, value in inspection.plugins.items())
    yield from ((f"command {name}", value) for name, value in inspection.scripts.items())
    yield from (
        (f"requirement {_one_order(line)}", "")
        for line in inspection.requires
        if "extra ==" not in line  # installed only when somebody asks for it
    )
    yield from (
        (f"code at every start of Python: {name}", "")
        for name in inspection.startup_files
        if not name.startswith(_EDITABLE)
    )


def _called(fact: ContributionFact) -> str:
    """Return the call that a chat command makes; what follows its word is `...`."""
    words = [str(fact.facts.get("tool", ""))]
    fixed = fact.facts.get("arguments")
    for name, value in sorted(fixed.items()) if isinstance(fixed, dict) else ():
        words.append(f"{name}={json.dumps(value)}")
    if fact.facts.get("argument"):
        words.append(f"{fact.facts['argument']}=...")
    return " ".join(words)


def _policy_facts(inspection: Inspection) -> Iterator[tuple[str, list[str]]]:
    """Yield each tool and family with what it states beside its effects."""
    for plugin_id, manifest in inspection.manifests.items():
        for tool in manifest.tools:
            yield f"{plugin_id}:{tool['name']}", policy_facts(tool)
        for family in manifest.families:
            yield f"{plugin_id}:{family.prefix}*", policy_facts(family._asdict())


def _one_order(requirement: str) -> str:
    """Return a requirement with its bounds sorted: build tools write them in any order."""
    found = _REQUIREMENT.fullmatch(requirement)
    if found is None:
        return requirement
    bounds = sorted(part.strip() for part in found["bounds"].split(","))
    return f"{found['name'].strip()}{','.join(bounds)}{found['marker']}"
