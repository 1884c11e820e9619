from __future__ import annotations

import itertools

from pegboard.plugins.decision.order import order
from pegboard.plugins.decision.state import PluginRecord, State
from pegboard.plugins.discovery.manifest import Manifest
from pegboard.plugins.discovery.scan import FoundPlugin


def record(plugin_id: str, *, before: str = "", after: str = "") -> PluginRecord:
    manifest = Manifest(plugin_id, before=tuple(before.split()), after=tuple(after.split()))
    found = FoundPlugin(plugin_id, "m:p", plugin_id, "1", "")
    return PluginRecord(found, manifest, State.READY)


def test_without_wishes_the_order_is_by_id():
    assert order([record("c"), record("a"), record("b")]).ids == ("a", "b", "c")


def test_before_and_after_are_kept_and_ties_go_by_id():
    records = [record("a", after="d"), record("b", before="c"), record("c"), record("d")]
    assert order(records).ids == ("b", "c", "d", "a")


def test_the_order_in_which_plugins_are_found_does_not_matter():
    records = [
        record("a", after="d"),
        record("b", before="c a"),
        record("c", after="e"),
        record("d"),
        record("e"),
    ]
    assert len({order(items) for items in itertools.permutations(records)}) == 1


def test_ids_that_are_not_installed_are_ignored():
    assert order([record("b", before="nobody"), record("a", after="b gone")]).ids == ("b", "a")


def test_a_cycle_is_left_out_and_the_rest_is_ordered():
    records = [
        record("a", after="c"),
        record("b", after="a"),
        record("c", after="b"),
        record("d", after="a"),
        record("e", before="d"),
    ]
    found = order(records)
    assert found.ids == ("e", "d")
    assert len(found.cycles) == 1
    assert set(found.cycles[0]) == {"a", "b", "c"}
    assert found.cycles[0][0] == "a"


def test_two_cycles_are_both_named():
    records = [record("a", after="b"), record("b", after="a"), record("c", after="d")]
    records += [record("d", after="c"), record("e")]
    assert order(records) == (("e",), (("a", "b"), ("c", "d")))


def test_a_plugin_that_wants_to_be_before_itself_is_a_cycle():
    assert order([record("a", before="a"), record("b")]) == (("b",), (("a",),))


def test_no_plugins_have_an_order_too():
    assert order([]) == ((), ())
