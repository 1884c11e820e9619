"""The laws that every plugin keeps, whatever it brings."""

from __future__ import annotations

import inspect
import os
import re
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from pegboard.config.schema import check, defaults
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.hook_names import BEHAVIOUR_HOOKS
from pegboard.plugins.building.build_child import build_in_child, stale
from pegboard.plugins.decision.chat_commands import OWN
from pegboard.plugins.discovery.chat_command import KIND as CHAT_COMMAND
from pegboard.plugins.discovery.chat_command import chat_command_fault
from pegboard.plugins.running.hook_table import TRANSFORMED
from pegboard.testing.contracts.installed import Installed, find
from pegboard.testing.contracts.sample_events import newer_events
from pegboard.testing.contracts.suite import Suite, missing, no_tasks_left

if TYPE_CHECKING:
    from pegboard.plugins.running.activate import ActivePlugin
    from pegboard.testing.host import HostFactory

HEAVY: Final = frozenset(
    {
        *("aiohttp", "anthropic", "boto3", "copier", "google.genai", "httpx", "httpx2"),
        *("importlib_metadata", "jsonschema_rs", "mcp", "numpy", "openai", "pandas", "playwright"),
        *("prompt_toolkit", "pydantic", "pytest", "requests", "rich", "selenium", "sqlalchemy"),
        *("tensorflow", "tomlkit", "torch", "transformers", "urllib3"),
    }
)
"""Libraries that take long to import: a plugin imports them where it uses them."""
ID: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
WRONG_VALUE: Final[Mapping[str, Any]] = {"a": ["value", "of", "no", "setting"]}


class PluginContract(Suite):
    """Laws of a plugin as a whole.

    Subclass it and set `plugin`; set the rest where the plugin can't be activated without.

    Attributes:
        plugin: Its id, its distribution or its import package.
        config: Its settings, as the table `[plugins.<id>]` would give them.
        secrets: The secrets it needs.
        needs: Ids of the plugins it needs.
        heavy: Libraries of `HEAVY` that it may import at once after all.
        path: Folders to find it in, for a plugin that is not installed.
    """

    plugin: str = ""
    config: Mapping[str, Any] = {}
    secrets: Mapping[str, str] = {}
    needs: tuple[str, ...] = ()
    heavy: frozenset[str] = frozenset()
    path: tuple[str, ...] = ()

    # what is installed

    def test_it_is_installed_as_one_plugin(self) -> None:
        """Id, distribution and entry point go together."""
        found = self._installed().found
        assert not found.problem, found.problem
        assert ID.fullmatch(found.id), f"{found.id!r} is no id: small letters, digits, hyphens"
        assert ":" in found.value, f"the entry point {found.value} names no object"
        if found.dist.startswith("pegboard-"):
            assert found.dist == f"pegboard-{found.id}", "id and distribution differ"

    def test_its_manifest_is_current(self) -> None:
        """`plugin.json` is what `pegboard plugins build` would write now."""
        installed = self._installed()
        built = build_in_child(installed.target, path=self.path)
        differences = stale(installed.target, built)
        assert not differences, "run `pegboard plugins build`:\n" + "\n".join(differences)

    def test_its_manifest_holds_nothing_unknown(self) -> None:
        """Every key of the file is one that this Pegboard reads."""
        assert self._installed().manifest.unknown == ()

    def test_its_readme_names_what_it_adds(self) -> None:
        """A person learns from the README of every tool, type and secret."""
        installed = self._installed()
        readme, manifest = installed.readme, installed.manifest
        assert readme.strip(), "it has no README"
        names = [tool["name"] for tool in manifest.tools]
        names += [item.name for item in manifest.contributions if item.kind != CHAT_COMMAND]
        names += [f"/{item.name}" for item in manifest.contributions if item.kind == CHAT_COMMAND]
        names += [*manifest.secrets, *manifest.hooks]
        unnamed = [name for name in names if name not in readme]
        assert not unnamed, f"the README says nothing of: {', '.join(unnamed)}"

    # its import

    def test_importing_it_is_silent(self) -> None:
        """Nothing is printed: what a person reads is the host's."""
        report = self._installed().imported()
        assert not report.error, report.error
        assert report.printed == "", f"it printed: {report.printed[:500]}"

    def test_importing_it_is_light(self) -> None:
        """Heavy libraries are imported where they are used: every host pays for an import."""
        loaded = set(self._installed().imported().modules)
        heavy = sorted((HEAVY - self.heavy) & loaded)
        assert not heavy, f"importing it loads: {', '.join(heavy)}"

    def test_importing_it_changes_nothing(self) -> None:
        """No thread, open file, variable, folder, signal handler or path entry is left behind."""
        report = self._installed().imported()
        assert not report.changed, "\n".join(f"{k}: {v}" for k, v in report.changed.items())

    # its settings

    def test_its_settings_fit_their_schema(self) -> None:
        """The settings of this suite, over the defaults, are valid."""
        schema = self._installed().manifest.config
        if schema is None:
            assert not self.config, "settings for a plugin that has none"
            return
        problems = check({**defaults(schema), **self.config}, schema, "settings")
        assert not problems, "\n".join(problem.message for problem in problems)

    def test_every_setting_is_described(self) -> None:
        """`pegboard config schema` tells what each key means."""
        schema = self._installed().manifest.config or {}
        silent = [
            name
            for name, value in schema.get("properties", {}).items()
            if not value.get("description")
        ]
        assert not silent, f"settings without a description: {', '.join(silent)}"

    def test_a_wrong_setting_is_named(self) -> None:
        """An unknown key and a wrong value are refused with the key, before anything is imported.

        A setting that takes any value can't be wrong.
        """
        schema = self._installed().manifest.config
        if schema is None:
            return
        sound = {**defaults(schema), **self.config}
        unknown = check({**sound, "no_such_setting": 1}, schema, "settings")
        assert unknown, "an unknown key is accepted: set extra='forbid' in the model"
        assert "no_such_setting" in unknown[0].message
        for name, value in schema.get("properties", {}).items():
            if {"type", "enum", "const", "anyOf", "allOf", "$ref"} & value.keys():
                wrong = check({**sound, name: WRONG_VALUE}, schema, "settings")
                assert wrong, f"any value is accepted for {name}"
                assert name in wrong[0].path

    # what it brings

    def test_its_tools_are_described(self) -> None:
        """A model learns what each tool does and what each argument means."""
        for tool in self._installed().manifest.tools:
            summary = tool["description"].partition("\n")[0]
            assert summary.strip(), f"{tool['name']} has no description"
            arguments = tool["parameters"].get("properties", {})
            silent = [name for name, value in arguments.items() if not value.get("description")]
            assert not silent, f"{tool['name']}: no description of {', '.join(silent)}"

    def test_its_intents_can_be_read(self) -> None:
        """Every pattern compiles, and captures arguments that the tool has."""
        from pegboard.tools.intents import compile_intent

        for tool in self._installed().manifest.tools:
            known = set(tool["parameters"].get("properties", {}))
            for intent in tool.get("intents", ()):
                captured = set(compile_intent(intent["pattern"]).types)
                given = captured | set(intent.get("arguments", {}))
                assert given <= known, f"{tool['name']} has no argument {sorted(given - known)}"

    def test_its_chat_commands_are_its_own(self) -> None:
        """No word is one of Pegboard's, and each calls a tool of the plugin as it may be called."""
        manifest = self._installed().manifest
        for item in manifest.contributions:
            if item.kind == CHAT_COMMAND:
                assert item.name not in OWN, f"/{item.name} is Pegboard's own"
                fault = chat_command_fault(item, manifest.tools)
                assert not fault, f"/{item.name}: {fault}"

    async def test_every_reference_resolves(self, host: HostFactory) -> None:
        """What the manifest names is there when the plugin is active."""
        manifest = self._installed().manifest
        async with self._active(host) as active:
            assert set(active.tools) == {tool["name"] for tool in manifest.tools}
            named = {(item.kind, item.name) for item in manifest.contributions}
            assert set(active.contributions) == named
            for contribution in active.contributions.values():
                made = callable(contribution.factory) or contribution.kind == CHAT_COMMAND
                assert made, f"{contribution.name}: no factory"
            assert set(active.hooks) == set(manifest.hooks)

    async def test_it_starts_and_stops_twice(self, host: HostFactory) -> None:
        """A second host finds what the first one found, and neither leaves anything running."""
        environment, threads = dict(os.environ), set(threading.enumerate())
        with no_tasks_left():
            for _ in range(2):
                async with self._active(host) as active:
                    assert active.id == self._installed().found.id
        assert dict(os.environ) == environment, "it changed the environment"
        left = [
            thread.name
            for thread in set(threading.enumerate()) - threads
            if not thread.name.startswith(("AnyIO", "asyncio_", "pegboard-"))
        ]
        assert not left, f"threads left: {', '.join(left)}"

    # its hooks

    async def test_its_hooks_are_documented(self, host: HostFactory) -> None:
        """The docstring of each says what it observes, changes or refuses."""
        async with self._active(host) as active:
            silent = [name for name, hook in active.hooks.items() if not inspect.getdoc(hook)]
        assert not silent, f"hooks without a docstring: {', '.join(silent)}"

    async def test_its_hooks_take_events_of_a_newer_host(self, host: HostFactory) -> None:
        """A field more in an event breaks nothing, and each hook returns what it may."""
        wanted = self._installed().manifest.hooks
        async with self._active(host) as active:
            for name, hook in active.hooks.items():
                for event in newer_events(name, wanted[name]):
                    returned = hook(event)
                    if inspect.isawaitable(returned):
                        returned = await returned
                    assert _may_return(name, returned), f"{name} returned {returned!r}"

    def _installed(self) -> Installed:
        if not self.plugin:
            missing(self, "plugin", "the plugin's id (it is an attribute)")
        return find(self.plugin, self.path)

    @asynccontextmanager
    async def _active(self, host: HostFactory) -> AsyncIterator[ActivePlugin]:
        from pathlib import Path

        plugin_id = self._installed().found.id
        settings = {f"plugins.{plugin_id}": dict(self.config)} if self.config else {}
        async with host(
            plugin_id,
            *self.needs,
            config=settings,
            secrets=self.secrets,
            path=[Path(folder) for folder in self.path],
            record=False,
        ) as running:
            try:
                active = await running.host.activate(plugin_id)
            except PegboardError as error:
                raise AssertionError(f"{error.message} {error.fix or ''}") from error
            yield active


def _may_return(hook: str, value: Any) -> bool:
    from pegboard.contracts.verdict import Ask, Deny

    if value is None:
        return True
    kind = BEHAVIOUR_HOOKS[hook]
    if kind == "guard":
        return isinstance(value, Ask | Deny)
    return kind == "transform" and isinstance(value, TRANSFORMED[hook][1])
