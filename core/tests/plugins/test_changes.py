from __future__ import annotations

import shutil

from pegboard.plugins.decision.rescan import Changes, rescan


def test_nothing_changed(machine):
    machine.site.add("web")
    assert rescan(machine.boot(), machine.boot()) == ((), (), ())


def test_new_plugins_are_added_and_old_ones_removed(machine):
    info = machine.site.add("web")
    old = machine.boot()
    shutil.rmtree(info)
    machine.site.add("git")
    machine.site.add("files")
    assert rescan(old, machine.boot()) == Changes(("files", "git"), ("web",), ())


def test_disabling_removes_and_enabling_adds(machine):
    machine.site.add("web")
    on, off = machine.boot(), machine.boot('[plugins]\ndisabled = ["web"]')
    assert rescan(on, off).removed == ("web",)
    assert rescan(off, on).added == ("web",)


def test_another_version_needs_a_restart(machine):
    shutil.rmtree(machine.site.add("web"))
    shutil.rmtree(machine.site.add("web", version="1"))
    machine.site.add("web", version="2")
    old = machine.boot()
    shutil.rmtree(machine.site.folder / "pegboard_web-2.dist-info")
    machine.site.add("web", version="3")
    assert rescan(old, machine.boot()) == ((), (), ("web",))


def test_another_manifest_of_the_same_version_needs_a_restart_too(machine):
    info = machine.site.add("web")
    old = machine.boot()
    shutil.rmtree(info)
    machine.site.add("web", summary="edited in place")
    assert rescan(old, machine.boot()).changed == ("web",)
