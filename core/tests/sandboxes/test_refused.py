from __future__ import annotations

import json
import stat

from pegboard.sandboxes import refused
from pegboard.sandboxes.refused import WEEK_S, Refused, RefusedLog

NOW = 1_800_000_000.0


def test_what_was_refused_often_is_one_line_and_the_latest_comes_first(tmp_path) -> None:
    log = RefusedLog(tmp_path / "state")
    log.add("pegboard grant /a", "files:file_read", at=NOW - 30)
    log.add("pegboard grant /b", "files:file_read", at=NOW - 20)
    log.add("pegboard grant /a", "shell:shell", at=NOW - 10)
    assert log.recent(NOW) == [
        Refused("pegboard grant /a", "shell:shell", NOW - 10, 2),
        Refused("pegboard grant /b", "files:file_read", NOW - 20, 1),
    ]
    assert stat.S_IMODE(log.file.stat().st_mode) == 0o600


def test_it_is_forgotten_after_a_week_and_a_time_to_come_is_not_believed(tmp_path) -> None:
    log = RefusedLog(tmp_path)
    log.add("pegboard grant /a", "files:file_read", at=NOW)
    assert log.recent(NOW + WEEK_S - 1) != []
    assert log.recent(NOW + WEEK_S) == []
    assert log.recent(NOW - 1) == []


def test_lines_that_nobody_can_read_are_passed_over(tmp_path) -> None:
    log = RefusedLog(tmp_path)
    log.add("pegboard grant /a", "files:file_read", at=NOW)
    with log.file.open("ab") as file:
        for line in ('{"at": 1, "to', "7", '{"fix": 3, "tool": "x", "at": 1}', "[]", "\udcff"):
            file.write(line.encode("utf-8", "surrogateescape") + b"\n")
    log.add("pegboard grant /b", "files:file_read", at=NOW)
    assert [item.fix for item in log.recent(NOW)] == ["pegboard grant /b", "pegboard grant /a"]
    assert RefusedLog(tmp_path / "nowhere").recent(NOW) == []


def test_the_file_stays_small_and_keeps_how_often(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(refused, "_MOST_BYTES", 2_000)
    log = RefusedLog(tmp_path)
    for turn in range(300):
        log.add(f"pegboard grant /{turn % 3}", "files:file_read", at=NOW + turn)
        assert log.file.stat().st_size < 2_200
    assert sum(item.times for item in log.recent(NOW + 300)) == 300
    assert all(json.loads(line) for line in log.file.read_text().splitlines())
