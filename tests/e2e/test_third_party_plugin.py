"""A third party's plugin from its template to its removal, in an environment of its own."""

from __future__ import annotations

import json
from pathlib import Path


def test_a_plugin_is_made_installed_used_disabled_and_uninstalled(overlay, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "notes.txt").write_text("one two\nthree\n", encoding="utf-8")

    def run(*argv: str, code: int = 0) -> str:
        ran = overlay.run(*argv, cwd=work)
        output = ran.stdout + ran.stderr
        assert ran.returncode == code, f"{argv} ended with {ran.returncode}\n{output}"
        assert "Traceback" not in output
        return ran.stdout

    run("pegboard", "plugins", "new", "weather", "--kind", "tool", "--directory", "D")
    run("pip", "install", "--quiet", "./D")
    listed = json.loads(run("pegboard", "plugins", "list", "--json"))
    assert {item["id"]: item["state"] for item in listed["plugins"]}["weather"] == "ready"

    answer = run("pegboard", "tools", "call", "weather_count", "path=notes.txt")
    assert "2 lines, 3 words, 14 characters" in answer
    assert "2 lines, 3 words" in run("pegboard", "ask", "/weather_count path=notes.txt")
    events = [
        json.loads(line)
        for line in run("pegboard", "ask", "--json", "count the words in notes.txt").splitlines()
    ]
    assert [event["type"] for event in (events[0], events[-1])] == ["turn_started", "turn_finished"]
    assert "2 lines, 3 words" in events[-1]["text"]

    run("pegboard", "plugins", "disable", "weather")
    run("pegboard", "tools", "call", "weather_count", "path=notes.txt", code=4)
    assert "weather_count" not in run("pegboard", "tools", "list")
    run("pegboard", "plugins", "enable", "weather")
    run("pegboard", "tools", "call", "weather_count", "path=notes.txt")

    run("pip", "uninstall", "--quiet", "--yes", "pegboard-weather")
    assert "weather" not in run("pegboard", "plugins", "list")
    run("pegboard", "plugins", "why", "weather", code=4)
