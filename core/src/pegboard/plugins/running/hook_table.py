"""Who takes part in what happens, and how: isolated, in order, with time limits.

pluggy validates and orders; this table calls. An implementation that is a `def` runs on the event
loop: a worker thread would cost a hundred times the call, could not be stopped either, and if hung
would keep the process from ending. So a `def` must be quick, and its time limit only detects;
whatever waits is an `async def`, which is stopped at the limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import anyio

from pegboard.contracts.errors import PegboardError, PluginError
from pegboard.contracts.hook_events import OBSERVED_TYPES
from pegboard.contracts.hook_names import BEHAVIOUR_HOOKS
from pegboard.contracts.message import InboundMessage, OutboundMessage
from pegboard.contracts.provider import ChatRequest
from pegboard.contracts.result import ToolResult
from pegboard.contracts.verdict import Ask, Deny
from pegboard.plugins.building.isolation import author_place, is_plugin_fault, one_line
from pegboard.plugins.decision.state import PluginRecord, State
from pegboard.plugins.discovery.own_code import shown_file
from pegboard.plugins.running.guard_stdout import quiet
from pegboard.plugins.running.stub import Hook as Hook
from pegboard.plugins.running.stub import LazyPlugin, callers_in_order, ordered_manager
from pegboard.plugins.running.stub import ResolveHook as ResolveHook

Report = Callable[[str, str], None]
"""`report(plugin_id, what_happened)`, for the host's log."""

OBSERVER: Final = "pegboard_event"
TRANSFORMED: Final[Mapping[str, tuple[str, type[Any]]]] = {
    "pegboard_message_in": ("message", InboundMessage),
    "pegboard_model_request": ("request", ChatRequest),
    "pegboard_tool_arguments": ("arguments", Mapping),
    "pegboard_tool_result": ("result", ToolResult),
    "pegboard_message_out": ("message", OutboundMessage),
}
"""Transform hook to the field of its event that the result replaces, and the result's type."""
_FIXED: Final[Mapping[str, tuple[str, ...]]] = {
    "pegboard_message_in": ("channel", "chat", "thread", "sender"),
    "pegboard_message_out": ("chat", "thread"),
}
"""Fields of a message that say whose it is; a hook can't move words to somebody else."""
_GUARDS: Final = frozenset(name for name, kind in BEHAVIOUR_HOOKS.items() if kind == "guard")
_MESSAGES: Final = (InboundMessage, OutboundMessage)
_OWN_WILL: Final = frozenset({State.DISABLED, State.UNTRUSTED})
"""States that the operator chose: guards of such plugins are not missed."""


class _Entry:
    """One implementation: where it is, and how it has been doing."""

    __slots__ = ("failures", "function", "given_up", "hook", "off", "plugin_id")

    def __init__(self, plugin_id: str, hook: str) -> None:
        self.plugin_id = plugin_id
        self.hook = hook
        self.function: Hook | None = None
        self.failures = 0
        self.off = False
        self.given_up = False


class HookTable:
    """The behaviour hooks of all plugins, in their order. A rescan makes a new one."""

    def __init__(
        self,
        records: Iterable[PluginRecord],
        resolve: ResolveHook,
        *,
        timeout_s: float = 5.0,
        observe_failures: int = 3,
        report: Report | None = None,
        before: HookTable | None = None,
    ) -> None:
        """Order the hooks of `records`; nothing is imported.

        Args:
            records: All plugins in their order, unusable ones too: their guards deny.
            resolve: Activates a plugin and returns its implementation of a hook.
            timeout_s: Seconds for one call.
            observe_failures: Failures in a row after which an observer is switched off.
            report: Told of each failure.
            before: The table that this one replaces: who was switched off in it stays so.
        """
        listed = tuple(records)
        usable = {record.id: record for record in listed if record.usable and record.manifest}
        self._resolve = resolve
        self._timeout_s = timeout_s
        self._observe_failures = observe_failures
        self._report = report or _ignore
        self._calls = _in_order(usable, resolve)
        for entry in self._calls.get(OBSERVER, ()):
            entry.off = entry.given_up = before is not None and before._gave_up(entry.plugin_id)
        self._observers = _by_event_type(self._calls.get(OBSERVER, ()), usable)
        self._missing = _missing_guards(listed)
        self._wanted = frozenset(
            [(hook, "") for hook in (*self._calls, *self._missing)]
            + [(OBSERVER, event_type) for event_type in self._observers]
        )

    def wants(self, hook: str, event_type: str = "") -> bool:
        """Tell whether anybody implements the hook (for that event type): one look-up."""
        return (hook, event_type) in self._wanted

    async def observe(self, event: Any) -> None:
        """Tell every observer of this event's type; nothing is raised."""
        for entry in self._observers.get(event.type, ()):
            if entry.off:
                continue
            try:
                await self._call(entry, event)
            except BaseException as error:
                if not is_plugin_fault(error):
                    raise
                self._count_failure(entry, error)
            else:
                entry.failures = 0

    async def transform(self, hook: str, event: Any) -> Any:
        """Return the event after all implementations, each seeing what the one before returned.

        A failing implementation, and one that returns something of the wrong type, is skipped and
        named in a report.
        """
        field, wanted = TRANSFORMED[hook]
        for entry in self._calls.get(hook, ()):
            if entry.off:
                continue
            try:
                result = await self._call(entry, event)
            except BaseException as error:
                if not is_plugin_fault(error):
                    raise
                # a plugin that can't be activated is not tried, and not reported, at each event
                entry.off = isinstance(error, PluginError) and entry.function is None
                self._report(
                    entry.plugin_id, f"{hook} is skipped: {self._words(error)}{_where(error)}"
                )
                continue
            if result is None:
                continue
            wrong = _wrong(hook, getattr(event, field), result, wanted)
            if wrong:
                self._report(entry.plugin_id, f"{hook} is skipped: {wrong}")
            else:
                event = replace(event, **{field: result})
        return event

    async def guard(self, hook: str, event: Any) -> Ask | Deny | None:
        """Ask all guards and return the strictest answer; a guard that can't answer denies.

        The answer names the plugins whose it is.
        """
        if (hook, "") not in self._wanted:
            return None
        answers = [await self._judge(entry, event) for entry in self._calls.get(hook, ())]
        answers += self._missing.get(hook, ())
        denials = [answer for answer in answers if isinstance(answer, Deny)]
        if denials:
            return denials[0]
        asks = [answer for answer in answers if isinstance(answer, Ask)]
        if not asks:
            return None
        plugins = ", ".join(ask.plugin for ask in asks)
        return Ask("\n".join(ask.question for ask in asks), plugin=plugins)

    def _gave_up(self, plugin_id: str) -> bool:
        entries = self._calls.get(OBSERVER, ())
        return any(entry.given_up for entry in entries if entry.plugin_id == plugin_id)

    async def _call(self, entry: _Entry, event: Any) -> Any:
        function = entry.function
        if function is None:
            function = entry.function = await self._resolve(entry.plugin_id, entry.hook)
        began = time.perf_counter()
        with quiet(entry.plugin_id):
            result = function(event)
            if result is not None and hasattr(result, "__await__"):
                with anyio.fail_after(self._timeout_s):
                    result = await result
        if time.perf_counter() - began > self._timeout_s:
            # code that blocks can't be stopped, only noticed; a guard's late word counts as no
            self._report(
                entry.plugin_id,
                f"{entry.hook} held up the host for more than {self._timeout_s:g} s; "
                "a hook that waits must be an `async def` and await",
            )
            if entry.hook in _GUARDS:
                raise TimeoutError
        return result

    async def _judge(self, entry: _Entry, event: Any) -> Ask | Deny | None:
        try:
            answer = await self._call(entry, event)
        except BaseException as error:
            if not is_plugin_fault(error):
                raise
            words, where = self._words(error), _where(error)
        else:
            words, where = _no_answer(answer), ""
            if not words:
                return _named(answer, entry.plugin_id)
        self._report(entry.plugin_id, f"{entry.hook} denies: {words}{where}")
        return _denial(entry.plugin_id, f"could not judge this: {words}")

    def _count_failure(self, entry: _Entry, error: BaseException) -> None:
        entry.failures += 1
        lost = isinstance(error, PluginError) and entry.function is None
        entry.given_up = not lost and entry.failures >= self._observe_failures
        entry.off = lost or entry.given_up
        suffix = "; it is switched off until the host starts again" if entry.off else ""
        words = f"{self._words(error)}{_where(error)}{suffix}"
        self._report(entry.plugin_id, f"{entry.hook} failed: {words}")

    def _words(self, error: BaseException) -> str:
        if isinstance(error, TimeoutError):
            return f"no answer within {self._timeout_s:g} s"
        return error.message if isinstance(error, PluginError) else one_line(error)


def _where(error: BaseException) -> str:
    """Return ` (FILE:LINE)` of the author's code that raised, or "" when nothing tells."""
    place = None if isinstance(error, PegboardError | TimeoutError) else author_place(error)
    return "" if place is None else f" ({shown_file(place[0])}:{place[1]})"


def _in_order(
    usable: Mapping[str, PluginRecord], resolve: ResolveHook
) -> dict[str, tuple[_Entry, ...]]:
    lazy = []
    for record in usable.values():
        hooks = record.manifest.hooks if record.manifest else {}
        known = [hook for hook in hooks if hook in BEHAVIOUR_HOOKS]
        if known:
            lazy.append(LazyPlugin(record.id, known, resolve))
    if not lazy:
        return {}
    manager = ordered_manager(lazy)
    found = {hook: callers_in_order(manager, hook) for hook in BEHAVIOUR_HOOKS}
    return {
        hook: tuple(_Entry(plugin.id, hook) for plugin in plugins)
        for hook, plugins in found.items()
        if plugins
    }


def _by_event_type(
    entries: Iterable[_Entry], usable: Mapping[str, PluginRecord]
) -> dict[str, tuple[_Entry, ...]]:
    found: dict[str, list[_Entry]] = {}
    for entry in entries:
        manifest = usable[entry.plugin_id].manifest
        wanted = manifest.hooks[OBSERVER] if manifest else ()
        for event_type in wanted or OBSERVED_TYPES:
            found.setdefault(event_type, []).append(entry)
    return {event_type: tuple(listed) for event_type, listed in found.items()}


def _missing_guards(records: Iterable[PluginRecord]) -> dict[str, list[Deny]]:
    """Return the standing denials of guards that can't be loaded."""
    found: dict[str, list[Deny]] = {}
    for record in records:
        if record.usable or record.state in _OWN_WILL or record.manifest is None:
            continue
        for hook in record.manifest.hooks:
            if BEHAVIOUR_HOOKS.get(hook) == "guard":
                words = f"can't be loaded ({record.state}): {record.reason}"
                found.setdefault(hook, []).append(_denial(record.id, words))
    return found


def _denial(plugin_id: str, words: str) -> Deny:
    return Deny(
        f"The guard of plugin {plugin_id} {words}",
        fix=f"pegboard plugins disable {plugin_id}",
        plugin=plugin_id,
    )


def _named(answer: Ask | Deny | None, plugin_id: str) -> Ask | Deny | None:
    """Return an answer with the plugin whose it is, whatever plugin it names itself."""
    if isinstance(answer, Ask):
        return Ask(answer.question, plugin=plugin_id)
    return answer and Deny(answer.reason, answer.fix, plugin=plugin_id)


def _no_answer(answer: Any) -> str:
    """Return what is wrong with a guard's answer, or ""."""
    texts: tuple[Any, ...] = ()
    if isinstance(answer, Ask):
        texts = (answer.question,)
    elif isinstance(answer, Deny):
        texts = (answer.reason, answer.fix or "")
    elif answer is not None:
        return f"it returned {type(answer).__name__}, not None, Ask or Deny"
    if all(isinstance(text, str) for text in texts):
        return ""
    return f"it returned {type(answer).__name__} without a text"


def _wrong(hook: str, before: Any, after: Any, wanted: type[Any]) -> str:
    if not isinstance(after, wanted):
        return f"it returned {type(after).__name__}, not {wanted.__name__}"
    if wanted in _MESSAGES and not (
        isinstance(after.text, str) and isinstance(after.attachments, tuple)
    ):
        return f"it returned {wanted.__name__} without a text or a tuple of attachments"
    moved = [name for name in _FIXED.get(hook, ()) if getattr(after, name) != getattr(before, name)]
    return f"it changed {', '.join(moved)}, which no hook may" if moved else ""


def _ignore(plugin_id: str, what: str) -> None:
    """Drop a report."""
