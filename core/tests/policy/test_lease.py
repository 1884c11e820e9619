"""Leases: never more than the parent, never longer, and gone when they are taken away."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from pegboard.contracts.caller import Caller
from pegboard.contracts.errors import CapabilityDeniedError
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.policy.capabilities import STANDARD
from pegboard.policy.decide import decide
from pegboard.policy.lease import NO_LEASES, DenialBreaker, Lease, LeaseTable
from pegboard.policy.snapshot import PolicySnapshot

SPAWNS = RegisteredTool(
    ToolSpec(name="t", effects=frozenset({"read"}), capability="orch:spawn"), "p", first_party=True
)
READS = RegisteredTool(ToolSpec(name="r", effects=frozenset({"read"})), "p", first_party=True)


class World:
    """A table and the policy that follows it."""

    def __init__(self, **options):
        numbers = itertools.count(1)
        self.changes = 0
        self.ids = iter(lambda: f"l{next(numbers)}", "")
        self.policy = PolicySnapshot(capabilities=STANDARD)
        self.table = LeaseTable(new_id=lambda: next(self.ids), changed=self._changed, **options)

    def _changed(self, leases):
        self.changes += 1
        self.policy = replace(self.policy, leases=leases)

    def issue(self, parent="", now=0.0, **options):
        return self.table.issue(STANDARD, now=now, parent=parent, **options)

    def rule(self, lease, tool=SPAWNS, now=0.0):
        caller = Caller(trust="operator", lease=lease)
        return decide(self.policy.at(now), caller, tool).rule


@pytest.fixture
def world():
    return World()


def test_a_child_holds_what_it_asked_for_and_its_parent_has():
    parent = Lease(id="a", root="a", capabilities=frozenset({"orch:read", "orch:web"}), expires=9)
    child = parent.child("b", requested=["orch:web", "orch:spawn"], expires=5)
    assert child.capabilities == {"orch:web"}
    assert (child.parent, child.root, child.expires) == ("a", "a", 5)
    assert parent.child("b").capabilities == parent.capabilities
    assert parent.child("b", expires=math.inf).expires == 9
    assert child.child("c", requested=["orch:read"]).capabilities == frozenset()


def test_a_first_lease_holds_at_most_what_the_profile_gives(world):
    assert world.issue().capabilities == STANDARD
    assert world.issue(requested=["orch:browse", "orch:read"]).capabilities == {"orch:read"}


def test_a_later_narrower_profile_narrows_leases_that_live(world):
    lease = world.issue()
    assert world.rule(lease.id) == "allowed"
    world.policy = replace(world.policy, capabilities=frozenset())
    assert world.rule(lease.id) == "capability.spawn"
    child = world.table.issue(frozenset({"orch:read"}), now=0, parent=lease.id)
    assert child.capabilities == {"orch:read"}


def test_a_lease_ends_by_the_clock_and_nothing_may_be_called_then(world):
    lease = world.issue(now=10, lifetime_s=5)
    assert world.rule(lease.id, now=14.9) == "allowed"
    for tool in (SPAWNS, READS):
        assert world.rule(lease.id, tool, now=15) == "lease.ended"
    assert world.rule("never issued", READS) == "lease.ended"
    assert world.policy.at(14) is world.policy


def test_no_lease_lives_longer_than_the_operator_says():
    world = World(longest_s=60)
    assert world.issue(now=100).expires == 160
    parent = world.issue(now=100, lifetime_s=10)
    assert world.issue(parent.id, now=105).expires == 110


def test_a_lease_that_is_over_has_no_children(world):
    parent = world.issue(lifetime_s=5)
    with pytest.raises(CapabilityDeniedError):
        world.issue(parent.id, now=5)
    with pytest.raises(CapabilityDeniedError):
        world.issue("never issued")


def test_revoking_takes_the_children_along_and_nobody_else(world):
    one, other = world.issue(), world.issue()
    child = world.issue(one.id)
    grandchild = world.issue(child.id)
    world.table.revoke(one.id)
    for lease in (one, child, grandchild):
        assert world.rule(lease.id, READS) == "lease.ended"
    assert world.rule(other.id) == "allowed"
    world.table.revoke(other.id)
    assert not world.policy.leases.live
    world.table.revoke("never issued")
    world.table.evict("never issued")


def test_evicting_takes_the_capabilities_and_lets_the_run_go_on(world):
    parent = world.issue()
    child = world.issue(parent.id)
    world.table.evict(parent.id)
    for lease in (parent, child):
        assert world.rule(lease.id) == "capability.spawn"
        assert world.rule(lease.id, READS) == "allowed"
    assert world.issue(parent.id).capabilities == frozenset()


def test_every_fire_of_a_job_has_a_root_of_its_own(world):
    run = world.issue()
    fires = [world.issue(run.id, kind="fire") for _ in range(2)]
    assert {fire.root for fire in fires} == {fire.id for fire in fires}
    assert world.issue(fires[0].id).root == fires[0].id


def test_a_breaker_opens_after_refusals_in_a_row_and_stays_open():
    breaker = DenialBreaker(2)
    assert not breaker.after(denied=True).after(denied=False).after(denied=True).open
    broken = breaker.after(denied=True).after(denied=True)
    assert broken.open
    assert broken.after(denied=False).open


def test_an_unattended_run_that_is_refused_too_often_gets_no_more_tools():
    world = World(refusals=2)
    assert world.table.counts
    run, other = world.issue(), world.issue()
    child = world.issue(run.id)
    for lease, denied in ((run, True), (child, True)):  # they are one run
        world.table.note(lease.id, denied=denied)
    for lease in (run, child):
        assert world.rule(lease.id, READS) == "denial_breaker"
    assert world.rule(other.id) == "allowed"
    world.table.note(run.id, denied=False)
    assert world.rule(run.id, READS) == "denial_breaker"
    world.table.note("never issued", denied=True)
    assert world.policy.held(Caller(lease="never issued")) == frozenset()


def test_an_allowed_call_begins_the_count_again():
    world = World(refusals=2)
    run = world.issue()
    for denied in (True, False, True):
        world.table.note(run.id, denied=denied)
    assert world.rule(run.id) == "allowed"


def test_one_fire_is_not_stopped_by_the_refusals_of_another():
    world = World(refusals=1)
    run = world.issue()
    one, other = (world.issue(run.id, kind="fire") for _ in range(2))
    world.table.note(one.id, denied=True)
    assert world.rule(one.id, READS) == "denial_breaker"
    assert world.rule(other.id, READS) == world.rule(run.id, READS) == "allowed"


def test_nothing_is_counted_where_the_profile_has_no_breaker(world):
    run = world.issue()
    for _ in range(100):
        world.table.note(run.id, denied=True)
    assert not world.table.counts
    assert world.rule(run.id) == "allowed"
    world.table.note("never issued", denied=True)


def test_what_is_over_is_forgotten():
    world = World(refusals=1)
    run = world.issue(lifetime_s=5)
    world.table.note(run.id, denied=True)
    assert world.policy.leases.stopped == {run.id}
    later = world.issue(now=6)
    assert set(world.policy.leases.live) == {later.id}
    assert world.policy.leases.stopped == frozenset()
    assert NO_LEASES.at(99) is NO_LEASES


def test_a_breaker_that_is_open_already_changes_nothing_more():
    world = World(refusals=2)
    run = world.issue()
    for _ in range(2):
        world.table.note(run.id, denied=True)
    before = world.changes
    for denied in (True, False, True):
        world.table.note(run.id, denied=denied)
    assert world.changes == before


def test_several_runs_are_stopped_side_by_side():
    world = World(refusals=1)
    runs = [world.issue() for _ in range(3)]
    for run in runs[:2]:
        world.table.note(run.id, denied=True)
    assert world.policy.leases.stopped == {run.id for run in runs[:2]}
    assert [world.rule(run.id, READS) for run in runs] == [
        "denial_breaker",
        "denial_breaker",
        "allowed",
    ]


def test_refusals_are_counted_while_other_runs_come_and_go():
    world = World(refusals=3)
    run = world.issue()
    for _ in range(3):
        world.table.note(run.id, denied=True)
        world.table.revoke(world.issue().id)
    assert world.rule(run.id, READS) == "denial_breaker"


def test_the_refusals_of_a_run_are_forgotten_with_it():
    world = World(refusals=2)
    world.ids = itertools.repeat("one id for all")
    for _ in range(3):
        run = world.issue()
        world.table.note(run.id, denied=True)
        assert world.rule(run.id, READS) == "allowed"
        world.table.revoke(run.id)
