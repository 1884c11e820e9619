"""What mends a broken plugin: its author gets file and line, everybody else another version."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from pegboard.config.load import load
from pegboard.config.paths import Paths
from pegboard.plugins.decision.checks import (
    broken_manifest,
    failed_before,
    incompatible,
    malformed,
)
from pegboard.plugins.decision.failures import Failure
from pegboard.plugins.decision.mending import crash_fix, failure_fix, mend_tool, reinstall
from pegboard.plugins.decision.situation import Candidate, Situation
from pegboard.plugins.discovery.manifest import Manifest
from pegboard.plugins.discovery.origin import origin_of, shipper_of
from pegboard.plugins.discovery.own_code import code_stamp, entry_file, shown_file
from pegboard.plugins.discovery.scan import FoundPlugin, scan
from pegboard.testing.dists import make_dist

HOST = "/opt/lib/python3.11/site-packages/pegboard/plugins/running/loading.py"


class Author:
    """A project of one's own, and what an installer left of it in a folder.

    Args:
        folder: Where both lie.
    """

    def __init__(self, folder: Path) -> None:
        self.project = folder / "my weather"
        self.site = folder / "lib" / "site-packages"
        for root in (self.project / "src", self.site):
            make_dist(root, "pegboard-weather", requires=["pegboard", "httpx>=1"])
        self.info = self.site / "pegboard_weather-1.0.0.dist-info"

    def installed(self, **direct: object) -> FoundPlugin:
        """Return the plugin as it is found; keywords are those of direct_url.json."""
        if direct:
            text = json.dumps({"url": self.project.as_uri(), **direct})
            (self.info / "direct_url.json").write_text(text)
        (found,) = scan([str(self.site)])
        return found

    def editable(self) -> FoundPlugin:
        found = self.installed(dir_info={"editable": True})
        shutil.rmtree(self.site / "pegboard_weather", ignore_errors=True)
        return found


@pytest.fixture
def author(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Author:
    made = Author(tmp_path)
    monkeypatch.chdir(made.project)
    monkeypatch.syspath_prepend(str(made.project / "src"))
    return made


def failed(*frames: tuple[object, int], last: str = "ValueError: no", fix: str = "") -> Failure:
    lines = [f'  File "{file}", line {line}, in f' for file, line in frames]
    text = "\n".join(["Traceback (most recent call last):", *lines, last])
    return Failure("pegboard-weather", "1.0.0", "import", text, fix=fix)


def test_the_last_line_of_the_authors_own_code_is_named(author):
    package = author.project / "src" / "pegboard_weather"
    failure = failed(
        (package / "plugin.py", 3),
        (package / "tools.py", 7),
        ("/usr/lib/python3.11/json/decoder.py", 355),
        (author.project / ".venv" / "lib" / "site-packages" / "httpx" / "x.py", 9),
        (HOST, 99),
    )
    assert failure_fix(author.editable(), failure) == (
        "mend src/pegboard_weather/tools.py:7, then `pegboard plugins check weather`"
    )


def test_a_line_that_can_not_be_parsed_is_named_as_a_frame_is(author):
    package = author.project / "src" / "pegboard_weather"
    failure = failed(
        (package / "plugin.py", 3), (package / "tools.py", 12), last="SyntaxError: invalid syntax"
    )
    assert "src/pegboard_weather/tools.py:12," in failure_fix(author.editable(), failure)


def test_a_failure_that_only_the_host_saw_names_the_module(author):
    assert failure_fix(author.editable(), failed((HOST, 99))) == (
        "mend src/pegboard_weather/plugin.py, then `pegboard plugins check weather`"
    )


def test_what_the_failure_itself_says_is_told_with_the_place(author):
    package = author.project / "src" / "pegboard_weather"
    failure = failed((package / "plugin.py", 3), fix="annotate it: `x: str`")
    assert failure_fix(author.editable(), failure) == (
        "mend src/pegboard_weather/plugin.py:3: annotate it: `x: str`"
    )
    stale = failed((HOST, 9), fix="pegboard plugins build weather")
    assert failure_fix(author.editable(), stale) == "pegboard plugins build weather"


@pytest.mark.parametrize(
    ("module", "fix"),
    [
        ("httpx", "pip install --editable ."),
        ("yaml", "pip install yaml"),
        ("pegboard_weather.tols", "mend src/pegboard_weather/plugin.py:3, then `pegboard plugins"),
    ],
)
def test_a_missing_module_of_a_project_of_ones_own(author, module, fix):
    package = author.project / "src" / "pegboard_weather"
    last = f"ModuleNotFoundError: No module named '{module}'"
    failure = failed((package / "plugin.py", 3), last=last)
    assert failure_fix(author.editable(), failure).startswith(fix)


def test_a_copy_of_a_folder_is_mended_in_the_folder(author, monkeypatch):
    found = author.installed(dir_info={})
    failure = failed((author.site / "pegboard_weather" / "plugin.py", 3), (HOST, 9))
    assert failure_fix(found, failure) == (
        "mend src/pegboard_weather/plugin.py:3, then `pip install --force-reinstall --no-deps .`"
    )
    monkeypatch.chdir(author.project.parent)
    assert failure_fix(found, failure).endswith(
        "then `pip install --force-reinstall --no-deps './my weather'`"
    )


@pytest.mark.parametrize(
    ("direct", "fix"),
    [
        ({}, "pip install --upgrade pegboard-weather"),
        ({"archive_info": {}, "url": "file:///gone.whl"}, "pip install --upgrade pegboard-weather"),
        (
            {"archive_info": {}, "url": "https://example.org/w-1.0.whl"},
            "ask who ships pegboard-weather for another file than w-1.0.whl, and pip install that",
        ),
        (
            {
                "vcs_info": {"vcs": "git", "requested_revision": "main"},
                "url": "https://example.org/w",
            },
            "pip install --upgrade 'pegboard-weather @ git+https://example.org/w@main'",
        ),
    ],
)
def test_a_plugin_of_somebody_else_is_mended_by_another_version(author, direct, fix):
    failure = failed((author.site / "pegboard_weather" / "plugin.py", 3))
    assert failure_fix(author.installed(**direct), failure) == fix


def test_a_damaged_file_of_its_origin_says_nothing(author):
    for text in ("{", "[]", "null", '{"url": 3}', '{"dir_info": {"editable": true}}'):
        (author.info / "direct_url.json").write_text(text)
        (found,) = scan([str(author.site)])
        assert origin_of(found).kind in ("index", "file")
        assert reinstall(found).startswith("pip install --force-reinstall --no-deps ")


def test_who_ships_it_is_read_from_its_metadata(author):
    assert shipper_of(author.installed()) == ("", "")
    (author.info / "METADATA").write_text(
        "Name: pegboard-weather\nVersion: 1.0.0\nAuthor-email: Ann <ann@example.org>\n"
        "Project-URL: Home, https://example.org\nProject-URL: Docs, https://docs\n\nAuthor: no\n"
    )
    assert shipper_of(author.installed()) == ("Ann <ann@example.org>", "https://example.org")


def test_a_crash_is_mended_first_and_enabled_then(author):
    assert crash_fix(author.installed()).startswith("pip install --upgrade pegboard-weather; ")
    own = crash_fix(author.editable())
    assert own.startswith("mend src/pegboard_weather/plugin.py, then `pegboard plugins check")
    assert own.endswith("`pegboard plugins enable weather`")


def _situation(tmp_path: Path, **facts: object) -> Situation:
    paths = Paths(*(tmp_path / name for name in ("config", "state", "data", "cache")))
    return Situation(load(paths, env={}), bool, bool, **facts)


@pytest.mark.parametrize("crashed", [False, True])
def test_what_changed_since_it_failed_is_given_another_try(author, tmp_path, crashed):
    found = author.installed()
    failure = failed((HOST, 1))._replace(crashed=crashed, stamp="those files")
    for stamp, state in (("those files", "failed"), ("others", None)):
        situation = _situation(
            tmp_path, failures={"weather": failure}, stamp_of=lambda found, stamp=stamp: stamp
        )
        finding = failed_before(Candidate(found), situation)
        assert (finding and finding.state) == state


def test_the_stamp_changes_with_the_code_the_copy_and_the_entry_point(author):
    found = author.installed()
    before = code_stamp(found)
    assert code_stamp(found) == before
    assert code_stamp(found._replace(value="pegboard_weather.other:plugin")) != before
    os.utime(author.site / "pegboard_weather" / "plugin.py", (1, 1))
    edited = code_stamp(found)
    assert edited != before
    os.utime(author.info / "RECORD", (1, 1))
    assert code_stamp(found) != edited


def test_the_stamp_of_an_editable_plugin_changes_with_its_source(author):
    found, package = author.editable(), author.project / "src" / "pegboard_weather"
    before = code_stamp(found)
    (package / "seen.json").write_text("{}")  # what it keeps itself is no code
    assert code_stamp(found) == before
    os.utime(package / "plugin.py", (1, 1))
    assert code_stamp(found) != before
    assert code_stamp(found._replace(value="no_such_package:plugin")) != before


def test_what_boot_finds_in_a_project_of_ones_own_is_mended_there(author, tmp_path):
    found, situation = author.editable(), _situation(tmp_path)
    bad_point = malformed(Candidate(found._replace(value="not a module")), situation)
    assert bad_point.fix == (
        "mend the entry point in pyproject.toml, then `pip install --no-deps --editable .`"
    )
    bad_id = malformed(Candidate(found._replace(id="core")), situation)
    assert bad_id.fix.startswith("mend the name of the entry point in pyproject.toml, then")
    manifest = Manifest(id="weather", api=">=9", entry=found.value)
    old = incompatible(Candidate(found, manifest._replace(api="<1")), situation)
    assert old.fix == "mend src/pegboard_weather/plugin.py, then `pegboard plugins build weather`"
    needs = incompatible(Candidate(found._replace(requires=("pegboard<0.0.1",))), situation)
    assert needs.fix.startswith("mend the range of Pegboard in pyproject.toml, then `pip install")
    hooks = Candidate(found, manifest._replace(hooks={"pegboard_tool_gaurd": ()}))
    assert broken_manifest(hooks, situation).fix == old.fix


def test_files_are_shown_as_short_as_can_be(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert shown_file(str(tmp_path / "a.py")) == "a.py"
    assert shown_file(str(tmp_path)) == "."
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert shown_file(str(tmp_path / "a.py")) == "~/a.py"
    assert shown_file("/etc/a.py") == "/etc/a.py"


def test_the_module_of_an_entry_point_may_be_the_package_itself(author):
    found = author.installed()
    assert entry_file(found).endswith("plugin.py")
    assert entry_file(found._replace(value="pegboard_weather")).endswith("__init__.py")
    assert entry_file(found._replace(value="no_such_package:x")) == ""


def test_a_tool_that_ended_its_process_is_found_in_the_text_of_the_code(author):
    found, package = author.editable(), author.project / "src" / "pegboard_weather"
    said = "mend src/pegboard_weather/{}, then `pegboard plugins check weather`"
    (package / "tools.py").write_text(
        "import os\n\n\nasync def end(code: int) -> None:\n    os._exit(code)\n"
        "\n\ndef ended() -> None: ...\n"
    )
    (package / "odd.py").write_bytes(b"\xff def end(")
    assert mend_tool(found, "end") == said.format("tools.py:4")
    assert mend_tool(found, "named_otherwise") == said.format("plugin.py")
    (package / "more.py").write_text("class Other:\n    def end(self): ...\n")
    assert mend_tool(found, "end") == said.format("plugin.py"), "which of the two it is, is a guess"
