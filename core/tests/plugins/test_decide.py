"""The states that plugins have because of each other."""

from __future__ import annotations


def test_two_distributions_of_one_id_are_both_in_conflict_and_both_named(machine):
    machine.site.add("weather", dist="acme-weather")
    machine.site.add("weather", dist="best-weather")
    records = machine.boot().records
    assert [record.state for record in records] == ["conflict", "conflict"]
    assert {record.fix for record in records} == {"pip uninstall best-weather"}
    assert "acme-weather and best-weather both have a plugin 'weather'" in records[0].reason
    assert records[0].details["dists"] == ["acme-weather", "best-weather"]


def test_who_takes_a_first_party_id_is_the_one_to_uninstall(machine):
    machine.site.add("web")
    machine.site.add("web", dist="aaa-web")
    assert machine.only(machine.boot()).fix == "pip uninstall aaa-web"


def test_a_rival_that_is_not_loaded_anyway_is_no_conflict(machine):
    machine.site.add("web")
    machine.site.add("web", dist="aaa-web")
    booted = machine.boot(safe=True)
    assert machine.only(booted).dist == "pegboard-web"
    assert [record.state for record in booted.records] == ["ready", "untrusted"]


def test_a_circle_of_wishes_is_a_conflict_of_all_in_it(machine):
    machine.site.add("web", after=["git"])
    machine.site.add("git", after=["web"])
    machine.site.add("files")
    booted = machine.boot()
    assert [record.id for record in booted.usable] == ["files"]
    for name in ("git", "web"):
        record = machine.only(booted, name)
        assert record.state == "conflict"
        assert record.reason.endswith("goes round in a circle: git -> web -> git")
        assert record.fix == "pegboard plugins disable web"


def test_who_needs_what_is_in_a_circle_misses_it(machine):
    machine.site.add("web", after=["git"], services=["cache"])
    machine.site.add("git", after=["web"])
    machine.site.add("files", needs={"services": ["cache"]})
    machine.site.add("shell", needs={"plugins": ["files"]})
    machine.site.add("memory", after=["shell"])
    booted = machine.boot()
    assert [record.id for record in booted.usable] == ["memory"]
    record = machine.only(booted, "files")
    assert record.state == "missing-need"
    assert "of the plugin web, which is conflict" in record.reason
    assert machine.only(booted, "shell").state == "missing-need"


def test_a_needed_plugin_that_is_not_installed_is_named_with_its_package(machine):
    machine.site.add("weather", dist="acme-weather", needs={"plugins": ["web"]})
    record = machine.only(machine.boot(), "weather")
    assert (record.state, record.fix) == ("missing-need", "pip install pegboard-web")


def test_the_package_of_a_strange_plugin_is_taken_from_what_is_required(machine):
    machine.site.add(
        "weather",
        dist="acme-weather",
        requires=["httpx", "acme-maps>=1"],
        needs={"plugins": ["maps"]},
    )
    assert machine.only(machine.boot(), "weather").fix == "pip install acme-maps"


def test_needs_are_followed_through_all_plugins(machine):
    machine.site.add("web")
    machine.site.add("git", needs={"plugins": ["web"]})
    machine.site.add("files", needs={"plugins": ["git"]})
    assert len(machine.boot().usable) == 3
    booted = machine.boot('[plugins]\ndisabled = ["web"]')
    assert machine.only(booted, "git").fix == "pegboard plugins enable web"
    record = machine.only(booted, "files")
    assert (record.state, record.fix) == ("missing-need", "pegboard plugins enable web")
    assert record.reason.startswith("it needs the plugin git, which is missing-need: ")


def test_a_needed_service_is_looked_for_in_all_plugins(machine):
    machine.site.add("web", services=["cache"])
    machine.site.add("git", needs={"services": ["cache"]})
    assert machine.only(machine.boot(), "git").state == "ready"
    record = machine.only(machine.boot('[plugins]\ndisabled = ["web"]'), "git")
    assert record.state == "missing-need"
    assert "the service 'cache' of the plugin web, which is disabled" in record.reason
    assert record.fix == "pegboard plugins enable web"


def test_a_service_that_nobody_offers_is_named(machine):
    machine.site.add("git", needs={"services": ["cache"]})
    assert "no installed plugin offers" in machine.only(machine.boot(), "git").reason
