from __future__ import annotations

import pytest

from pegboard.plugins.running.stub import LazyPlugin, callers_in_order, ordered_manager

pytestmark = pytest.mark.anyio


async def resolve(plugin_id, hook):
    async def real(event):
        return f"{plugin_id} {hook} {event}"

    return real


def test_stand_ins_keep_their_order():
    plugins = [LazyPlugin(name, ["pegboard_event"], resolve) for name in ("c", "a", "b")]
    manager = ordered_manager(plugins)
    assert [found.id for found in callers_in_order(manager, "pegboard_event")] == ["c", "a", "b"]
    assert callers_in_order(manager, "pegboard_tool_guard") == []


async def test_whoever_calls_through_pluggy_reaches_the_plugin_in_the_same_order():
    plugins = [LazyPlugin(name, ["pegboard_tool_guard"], resolve) for name in ("a", "b")]
    waiting = ordered_manager(plugins).hook.pegboard_tool_guard(event="e")
    assert [await item for item in waiting] == [
        "a pegboard_tool_guard e",
        "b pegboard_tool_guard e",
    ]
