from __future__ import annotations

from pegboard.plugins.decision.rescan import Changes, rescan


def test_what_came_went_and_changed_between_two_looks(environment):
    for name in ("a", "b", "c"):
        environment.add(name, "plugin = Plugin()")
    before = environment.boot()
    environment.add("d", "plugin = Plugin()")
    environment.config["plugins"]["disabled"] = ["b"]
    metadata = environment.site / "c_pkg-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("1.0", "1.1"))
    assert rescan(before, environment.boot()) == Changes(("d",), ("b",), ("c",))
    assert rescan(before, before) == Changes((), (), ())
