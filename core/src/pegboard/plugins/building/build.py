"""Derive a plugin's manifest from its code; the program of the child process that does it.

`python -m pegboard.plugins.building.build --id ID --entry MODULE:ATTR [--source DIR]` prints the
manifest, or the error, as JSON on a descriptor that the plugin's own output can't reach.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pegboard.contracts.errors import BuildError, PegboardError
from pegboard.contracts.tool import ToolSpec
from pegboard.plugins.building.describe import Declaration, load_entry
from pegboard.plugins.building.describe import describe as describe
from pegboard.plugins.building.isolation import (
    author_place,
    author_traceback,
    one_line,
    told_where,
)
from pegboard.plugins.building.settings import load_model
from pegboard.plugins.building.spec_facts import check_tool_name, known_effects
from pegboard.plugins.building.tidy import schema_of
from pegboard.plugins.building.tool_schema import build_spec, check_schema
from pegboard.plugins.declaration import TOOL_MARK
from pegboard.plugins.declared import Contribution, FamilyFacts
from pegboard.plugins.discovery.chat_command import KIND as CHAT_COMMAND
from pegboard.plugins.discovery.chat_command import chat_command_fault
from pegboard.plugins.discovery.manifest import ContributionFact, FamilyFact, Manifest
from pegboard.plugins.discovery.versions import satisfies

FAILED: Final = 1


def build_manifest(plugin_id: str, entry: str, obj: object) -> dict[str, Any]:
    """Return the manifest of an imported plugin, as `plugin.json` holds it.

    Raises:
        BuildError: When a declaration can't be turned into a manifest.
    """
    declared = describe(plugin_id, obj)
    return manifest_of(plugin_id, entry, declared).to_dict()


def manifest_of(plugin_id: str, entry: str, declared: Declaration) -> Manifest:
    """Return the manifest of what a plugin declares, sorted so that it never changes by itself.

    Raises:
        BuildError: When a declaration can't be turned into a manifest.
    """
    info = declared.info
    _check_api(plugin_id, info.api)
    tools = tuple(_spec_of(name, tool).to_dict() for name, tool in sorted(declared.tools.items()))
    return Manifest(
        id=plugin_id,
        api=info.api,
        summary=info.summary or _module_summary(entry),
        entry=entry,
        activate=info.activate,
        hooks=dict(declared.hook_events),
        tools=tools,
        contributions=tuple(
            _fact(plugin_id, item, tools) for _, item in sorted(declared.contributions.items())
        ),
        families=tuple(
            _family(plugin_id, item)
            for item in sorted(declared.families, key=lambda family: family.prefix)
        ),
        config=_config_schema(info.config),
        config_ref=info.config,
        secrets=declared.secrets,
        needs={key: _sorted(names) for key, names in info.needs.to_dict().items()},
        services=_sorted(declared.services),
        background=_sorted(item.name for item in declared.backgrounds),
        lifespan=declared.lifespan is not None,
        before=_sorted(info.before),
        after=_sorted(info.after),
    )


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names))


def _check_api(plugin_id: str, api: str) -> None:
    try:
        satisfies("1.0", api)
    except ValueError as error:
        raise BuildError(f"plugin {plugin_id}: api: {error}") from error


def _module_summary(entry: str) -> str:
    module = sys.modules.get(entry.partition(":")[0])
    return inspect.cleandoc(getattr(module, "__doc__", None) or "").partition("\n")[0]


def _spec_of(name: str, tool: Any) -> ToolSpec:
    facts = getattr(tool, TOOL_MARK, None)
    if facts is not None:
        with told_where(tool):
            return build_spec(tool, facts)
    spec: ToolSpec = tool.spec
    with told_where(type(tool).__call__):
        check_tool_name(name)
        if not spec.summary.strip():
            raise BuildError(
                f"tool {name}: its spec has no description, so a model can't know what it is for",
                fix='give one: `ToolSpec(..., description="Report the weather of a city.")`',
            )
        check_schema(name, spec.parameters)
    return spec


def _fact(
    plugin_id: str, item: Contribution, tools: Iterable[Mapping[str, Any]]
) -> ContributionFact:
    try:
        facts = json.loads(json.dumps(dict(item.facts), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise BuildError(
            f"plugin {plugin_id}: the facts of {item.kind} {item.name} have no JSON form: {error}"
        ) from error
    schema = _config_schema(item.config)
    fact = ContributionFact(item.kind, item.name, item.summary, schema, facts)
    fault = chat_command_fault(fact, tools) if fact.kind == CHAT_COMMAND else ""
    if fault:
        raise BuildError(f"plugin {plugin_id}: chat command /{fact.name}: {fault}")
    return fact


def _family(plugin_id: str, item: FamilyFacts) -> FamilyFact:
    check_tool_name(item.prefix)
    ceiling = item.effects
    if ceiling is not None:
        ceiling = known_effects(f"plugin {plugin_id}, family {item.prefix}", ceiling)
    return FamilyFact(
        prefix=item.prefix,
        kind=item.kind,
        effects=None if ceiling is None else _sorted(ceiling),
        audience=item.audience,
    )


def _config_schema(ref: str | None) -> Mapping[str, Any] | None:
    if ref is None:
        return None
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        return schema_of(TypeAdapter(load_model(ref)))
    except PydanticUserError as error:
        raise BuildError(f"config {ref!r} has no JSON form: {error.message}") from error


def main(arguments: Sequence[str]) -> int:
    """Print the manifest of one plugin, or why there is none, as one JSON object."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m pegboard.plugins.building.build")
    parser.add_argument("--id", required=True)
    parser.add_argument("--entry", required=True)
    parser.add_argument("--source", action="append", default=[], help="first on sys.path")
    options = parser.parse_args(arguments)
    # what the plugin prints, and what its children print, goes to standard error
    out = os.dup(1)
    os.dup2(2, 1)
    sys.path[:0] = options.source
    try:
        answer = {"manifest": build_manifest(options.id, options.entry, load_entry(options.entry))}
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        answer = {"error": _error_dict(error, options.entry)}
    data = json.dumps(answer).encode()
    while data:
        data = data[os.write(out, data) :]
    return FAILED if "error" in answer else 0


def _error_dict(error: BaseException, entry: str) -> dict[str, Any]:
    place = author_place(error)
    where = {} if place is None else {"file": place[0], "line": place[1]}
    if isinstance(error, PegboardError):
        return {"message": error.message, "fix": error.fix, **where}
    return {
        "message": f"importing it failed: {one_line(error)}",
        "fix": _missing_fix(error, entry),
        "traceback": author_traceback(error),
        **where,
    }


def _missing_fix(error: BaseException, entry: str) -> str | None:
    """Return the command that installs a module which is not there, if it is not the plugin's."""
    top = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if not top or top == entry.partition(":")[0].partition(".")[0]:
        return None
    return f"pip install {top.replace('_', '-')}"


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stderr.flush()
    # a thread that the plugin left behind must not keep the child alive
    os._exit(status)
