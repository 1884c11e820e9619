"""Check an imported plugin against the hook specifications, with a manager that is thrown away.

pluggy knows the rules of names and parameters. The manager lives for one check only, so a plugin
that fails leaves nothing behind.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import pluggy

from pegboard.config.nearest import did_you_mean
from pegboard.contracts import hookspecs
from pegboard.contracts.errors import BuildError
from pegboard.plugins.building.isolation import told_where

Function = Callable[..., Any]

_HOOK: Final = re.compile(r"for hook '(\w+)'")


def verified_hooks(plugin_id: str, real: object) -> Mapping[str, Function]:
    """Return the implementation of each hook, contribution hooks too, in the order of the names.

    Raises:
        BuildError: When a hook does not exist, is implemented twice, does not take exactly
            `event`, or is a wrapper; the message names the hook and says what to write.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(real, plugin_id)
    except pluggy.PluginValidationError as error:
        named = _HOOK.search(str(error))
        with told_where(getattr(real, named[1], None) if named else None):
            raise BuildError(
                f"plugin {plugin_id}: {str(error).strip().splitlines()[-1]}",
                fix="a behaviour hook takes exactly one parameter: `event`",
            ) from error
    callers = manager.get_hookcallers(real) or []
    found: dict[str, Function] = {}
    for caller in sorted(callers, key=lambda caller: caller.name):
        if caller.has_spec() or not _is_optional(caller):
            with told_where(caller.get_hookimpls()[0].function):
                found[caller.name] = _verified(plugin_id, caller)
    return found


def _is_optional(caller: pluggy.HookCaller) -> bool:
    return all(implementation.optionalhook for implementation in caller.get_hookimpls())


def _verified(plugin_id: str, caller: pluggy.HookCaller) -> Function:
    where = f"plugin {plugin_id}, hook {caller.name}"
    if not caller.has_spec():
        raise BuildError(
            f"plugin {plugin_id}: there is no hook {caller.name}"
            f"{did_you_mean(caller.name, hookspecs.HOOK_NAMES)}"
        )
    first, *more = caller.get_hookimpls()
    if more:
        raise BuildError(f"{where}: implemented twice; a plugin has one implementation of a hook")
    if first.wrapper or first.hookwrapper or first.tryfirst or first.trylast:
        raise BuildError(
            f"{where}: wrappers, tryfirst and trylast are not supported",
            fix="order whole plugins: Plugin(before=[...], after=[...])",
        )
    _check_parameters(where, caller.name, first)
    return first.function


def _check_parameters(where: str, name: str, found: pluggy.HookImpl) -> None:
    function = found.function
    behaves = name in hookspecs.BEHAVIOUR_HOOKS
    wanted = ("event",) if behaves else ()
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise BuildError(f"{where}: it returns its result; it can't `yield`")
    if not behaves and inspect.iscoroutinefunction(function):
        raise BuildError(f"{where}: contributions are listed without waiting; write `def`")
    try:
        inspect.signature(function).bind(*wanted)
    except TypeError:
        fits = False  # e.g. `*, event`, which pluggy lets pass
    else:
        fits = (*found.argnames, *found.kwargnames) == wanted
    if not fits:
        raise BuildError(
            f"{where}: it must take {'exactly one parameter, `event`' if behaves else 'nothing'}",
            fix=f"def {name}({', '.join(wanted)})",
        )
