"""The fault zoo: every way in which a plugin can be broken, as distributions on disk.

The host must survive each of them. An author of a host tool, a CI job or a policy plugin can use it
to see how their own code takes a broken neighbour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pegboard.testing.dists import Dist, hello_code, hello_manifest, make_dist

Make = Callable[[Path], tuple[Dist, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One kind of broken plugin.

    Args:
        name: Its name in tables; the plugin's id is the same.
        at_boot: State that boot gives it, without importing anything.
        after: State after a host has tried to use it.
        reason: A part of the reason that must be given, in either state.
        fix: A part of the fix that must be given, in either state.
        make: Writes the distributions into a folder.
        config: Lines for the config file, without which the fault does not show.
    """

    name: str
    at_boot: str
    after: str
    reason: str
    fix: str
    make: Make
    config: str = ""


def _entry(fault: str) -> str:
    return f"pegboard_{fault.replace('-', '_')}.plugin:plugin"


def _one(
    fault: str,
    *,
    code: str | None = None,
    manifest: Mapping[str, Any] | str | None = None,
    changes: Mapping[str, Any] | None = None,
    requires: tuple[str, ...] = ("pegboard>=0.1,<1",),
) -> Make:
    """Return a maker of one distribution: a sound plugin but for what is given."""

    def make(folder: Path) -> tuple[Dist, ...]:
        sound = hello_manifest(fault, _entry(fault), **(changes or {}))
        return (
            make_dist(
                folder,
                f"pegboard-{fault}",
                code=hello_code(fault) if code is None else code,
                manifest=sound if manifest is None else manifest,
                requires=requires,
            ),
        )

    return make


def _import_fault(
    name: str, reason: str, lines: str, *, fix: str = "", config: str = "", after: str = "failed"
) -> Fault:
    """Return a fault that shows when the plugin is imported: boot can't know of it."""
    return Fault(
        name=name,
        at_boot="ready",
        after=after,
        reason=reason,
        fix=fix or (f"pip install --upgrade pegboard-{name}" if after == "failed" else ""),
        make=_one(name, code=hello_code(name, before=lines)),
        config=config,
    )


def _code_fault(name: str, reason: str, code: str, *, fix: str = "", **changes: Any) -> Fault:
    """Return a fault of what the code says, which only activation can see."""
    return Fault(
        name=name,
        at_boot="ready",
        after="failed",
        reason=reason,
        fix=fix or f"pip install --upgrade pegboard-{name}",
        make=_one(name, code=code, changes=changes),
    )


def _hook_fault(name: str, hook: str, code: str) -> Fault:
    """Return a fault that shows when a hook is called; the plugin stays as it is."""
    make = _one(name, code=hello_code(name, after=code), changes={"hooks": {hook: []}})
    return Fault(name=name, at_boot="ready", after="ready", reason="", fix="", make=make)


def _boot_fault(
    name: str, state: str, reason: str, fix: str, *, config: str = "", **made: Any
) -> Fault:
    """Return a fault that boot sees in the files."""
    make = _one(name, **made)
    return Fault(
        name=name, at_boot=state, after=state, reason=reason, fix=fix, make=make, config=config
    )


def _pair_fault(name: str, state: str, reason: str, fix: str, make: Make) -> Fault:
    """Return a fault that lies between distributions, or between one and its files."""
    return Fault(name=name, at_boot=state, after=state, reason=reason, fix=fix, make=make)


def _two_with_one_tool(folder: Path) -> tuple[Dist, ...]:
    """Write two plugins with a tool of the same name."""
    made = []
    for fault in ("clash-one", "clash-two"):
        code = hello_code("clash").replace("hello from clash", f"hello from {fault}")
        manifest = hello_manifest("clash", _entry(fault), id=fault)
        made.append(make_dist(folder, f"pegboard-{fault}", code=code, manifest=manifest))
    return tuple(made)


def _two_with_one_id(folder: Path) -> tuple[Dist, ...]:
    """Write two distributions that both call their plugin `same-id`."""
    made = []
    for name in ("first-of-same-id", "second-of-same-id"):
        package = name.replace("-", "_")
        manifest = hello_manifest("same-id", f"{package}.plugin:plugin")
        code = hello_code("same-id")
        made.append(make_dist(folder, name, id="same-id", code=code, manifest=manifest))
    return tuple(made)


def _two_with_one_module(folder: Path) -> tuple[Dist, ...]:
    """Write two distributions that own the same files; the second one overwrote the first's."""
    made = []
    for fault in ("shared-module", "shared-module-too"):
        manifest = hello_manifest("shared-module-too", "pegboard_shared.plugin:plugin")
        made.append(
            make_dist(
                folder,
                f"pegboard-{fault}",
                package="pegboard_shared",
                code=hello_code("shared-module-too"),
                manifest=manifest,
            )
        )
    return tuple(made)


def _two_in_a_circle(folder: Path) -> tuple[Dist, ...]:
    """Write two plugins of which each wants to come before the other."""
    made = []
    for fault, other in (("circle", "circle-too"), ("circle-too", "circle")):
        manifest = hello_manifest(fault, _entry(fault), before=[other])
        made.append(make_dist(folder, f"pegboard-{fault}", manifest=manifest))
    return tuple(made)


def _gone(folder: Path) -> tuple[Dist, ...]:
    """Write a distribution whose code somebody removed."""
    dist = make_dist(folder, "pegboard-module-gone")
    for file in sorted((folder / dist.package).iterdir()):
        file.unlink()
    (folder / dist.package).rmdir()
    return (dist,)


def _no_metadata(folder: Path) -> tuple[Dist, ...]:
    """Write a distribution that an interrupted installation left without METADATA."""
    dist = make_dist(folder, "pegboard-no-metadata")
    (dist.info / "METADATA").unlink()
    return (dist,)


def _odd_entry_point(folder: Path) -> tuple[Dist, ...]:
    """Write a distribution whose entry point names no module."""
    return (make_dist(folder, "pegboard-odd-entry-point", entry="not a module!"),)


def _unmanifested(folder: Path) -> tuple[Dist, ...]:
    """Write a plugin without a manifest that raises: boot of a host imports it."""
    code = hello_code("unmanifested", before='raise RuntimeError("broken on purpose")')
    return (make_dist(folder, "pegboard-unmanifested", code=code),)


_HOOK = """
@plugin.hook
def {}:
    return None
"""
_RAISING_GUARD = """
@plugin.hook
def pegboard_message_guard(event):
    raise RuntimeError("broken on purpose")
"""
_RAISING_OBSERVER = """
@plugin.hook
def pegboard_event(event):
    raise RuntimeError("broken on purpose")
"""
_LIFESPAN = """
@plugin.lifespan
async def lifespan(context):
    raise RuntimeError("broken on purpose")
    yield
"""
_SETTINGS = {
    "type": "object",
    "properties": {"size": {"type": "integer", "description": "Size."}},
    "additionalProperties": False,
}

FAULTS: Final[tuple[Fault, ...]] = (
    # what the code does when it is imported
    _import_fault("raises", "broken on purpose", 'raise RuntimeError("broken on purpose")'),
    _import_fault(
        "missing-dependency",
        "a_library_that_is_not_here",
        "import a_library_that_is_not_here",
        fix="pip install a-library-that-is-not-here",
    ),
    _import_fault("exits", "SystemExit", "import sys\nsys.exit(3)"),
    _import_fault(
        "exits-hard",
        "the whole process died while importing",
        "import os\nos._exit(9)",
        fix="pegboard plugins enable exits-hard",
    ),
    _import_fault(
        "hangs",
        "did not end within 1 s",
        "import time\ntime.sleep(3600)",
        config="[plugins]\nimport_timeout_s = 1\n",
    ),
    _import_fault(
        "prints", "", 'import os\nprint("noise")\nos.write(1, b"raw noise\\n")', after="ready"
    ),
    _import_fault("floods", "", 'print("noise " * 300_000)', after="ready"),
    # what the code says
    _code_fault("no-plugin", "has no 'plugin'", "nothing = 1\n"),
    _code_fault("not-a-plugin", "names a int", "plugin = 42\n"),
    _code_fault(
        "unknown-hook",
        "did you mean 'pegboard_tool_guard'?",
        hello_code("unknown-hook", after=_HOOK.format("pegboard_tool_gaurd(event)")),
    ),
    _code_fault(
        "bad-signature",
        "'more'",
        hello_code("bad-signature", after=_HOOK.format("pegboard_event(event, more)")),
        fix="exactly one parameter: `event`",
        hooks={"pegboard_event": []},
    ),
    _code_fault(
        "stale-manifest",
        "tool renamed_hello is not in the manifest",
        hello_code("renamed"),
        fix="pegboard plugins build stale-manifest",
    ),
    _code_fault(
        "lifespan-raises",
        "broken on purpose",
        hello_code("lifespan-raises", after=_LIFESPAN),
        lifespan=True,
    ),
    # what the hooks do
    _hook_fault("guard-raises", "pegboard_message_guard", _RAISING_GUARD),
    _hook_fault("observer-raises", "pegboard_event", _RAISING_OBSERVER),
    Fault(
        name="guard-missing",
        at_boot="ready",
        after="failed",
        reason="broken on purpose",
        fix="pip install --upgrade pegboard-guard-missing",
        make=_one(
            "guard-missing",
            code='raise RuntimeError("broken on purpose")',
            changes={"hooks": {"pegboard_message_guard": []}},
        ),
    ),
    Fault(
        name="unmanifested",
        at_boot="unmanifested",
        after="failed",
        reason="broken on purpose",
        fix="pip install --upgrade pegboard-unmanifested",
        make=_unmanifested,
    ),
    # what boot reads
    _boot_fault("broken-json", "failed", "line 2", "pip install", manifest='{"manifest": 1,\n'),
    _boot_fault("wrong-types", "failed", "tools", "pip install", changes={"tools": "hello"}),
    _boot_fault(
        "newer-manifest",
        "incompatible",
        "newer",
        "pip install --upgrade pegboard",
        changes={"manifest": 99},
    ),
    _boot_fault(
        "wrong-api",
        "incompatible",
        "hook API >=9,<10",
        "pip install --upgrade pegboard",
        changes={"api": ">=9,<10"},
    ),
    _boot_fault(
        "listed-unknown-hook",
        "failed",
        "did you mean 'pegboard_tool_guard'?",
        "pip install",
        changes={"hooks": {"pegboard_tool_gaurd": []}},
    ),
    _boot_fault(
        "needs-newer-core",
        "incompatible",
        "works with Pegboard >=99",
        "pip install --upgrade pegboard",
        requires=("pegboard>=99",),
    ),
    _boot_fault(
        "missing-binary",
        "missing-need",
        "no-such-program-here",
        "no-such-program-here",
        changes={"needs": {"binaries": ["no-such-program-here"]}},
    ),
    _boot_fault(
        "missing-plugin",
        "missing-need",
        "elsewhere",
        "pip install pegboard-elsewhere",
        changes={"needs": {"plugins": ["elsewhere"]}},
    ),
    _boot_fault(
        "missing-service",
        "missing-need",
        "no.such.service",
        "install a plugin that offers",
        changes={"needs": {"services": ["no.such.service"]}},
    ),
    _boot_fault(
        "missing-secret",
        "missing-need",
        "zoo_key",
        "pegboard secret set zoo_key",
        changes={"secrets": ["zoo_key"], "needs": {"secrets": ["zoo_key"]}},
    ),
    _boot_fault(
        "bad-config",
        "misconfigured",
        "must be a whole number, not 'large'",
        "pegboard config unset plugins.bad-config.size",
        changes={"config": _SETTINGS},
        config='[plugins.bad-config]\nsize = "large"\n',
    ),
    _pair_fault("same-id", "conflict", "second-of-same-id", "pip uninstall", _two_with_one_id),
    _pair_fault(
        "circle",
        "conflict",
        "circle -> circle-too -> circle",
        "plugins disable",
        _two_in_a_circle,
    ),
    _pair_fault("clash-one", "ready", "", "", _two_with_one_tool),
    _pair_fault("shared-module", "failed", "shared-module-too", "pip", _two_with_one_module),
    _pair_fault("no-metadata", "failed", "METADATA", "pip install", _no_metadata),
    _pair_fault("odd-entry-point", "failed", "not a module!", "pip install", _odd_entry_point),
    _pair_fault("module-gone", "failed", "pegboard_module_gone", "pip install", _gone),
)
"""Every fault, in the order of the docs."""
