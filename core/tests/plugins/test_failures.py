from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from pegboard.config.paths import Paths
from pegboard.plugins.decision.failures import FailureStore


@pytest.fixture
def paths(tmp_path):
    return Paths(tmp_path / "config", tmp_path / "state", tmp_path / "data", tmp_path / "cache")


@pytest.fixture
def store(paths):
    return FailureStore(paths)


def test_what_failed_is_read_back_with_its_traceback(store):
    store.record("web", "pegboard-web", "1.0", "import", "Traceback\nValueError: ünlucky")
    failure = store.read()["web"]
    assert (failure.dist, failure.version, failure.phase) == ("pegboard-web", "1.0", "import")
    assert failure.traceback.endswith("ValueError: ünlucky")
    assert not failure.crashed
    assert failure.at > 1_600_000_000


def test_the_last_failure_counts(store):
    store.record("web", "pegboard-web", "1.0", "import", "one")
    store.record("web", "pegboard-web", "1.1", "lifespan", "two")
    assert store.read()["web"].traceback == "two"


def test_the_end_of_a_long_traceback_is_kept(store):
    store.record("web", "pegboard-web", "1.0", "import", "x" * 200_000 + "the end")
    assert len(store.read()["web"].traceback) == 64_000
    assert store.read()["web"].traceback.endswith("the end")


def test_nothing_has_failed_at_first(store):
    assert store.read() == {}
    assert not store.forget("web")


def test_a_failure_can_be_forgotten(store):
    store.record("web", "pegboard-web", "1.0", "import", "x")
    store.record("webby", "pegboard-webby", "1.0", "import", "x")
    assert store.forget("web")
    assert list(store.read()) == ["webby"]


def test_an_import_that_is_going_on_is_no_crash(store):
    with store.marked("web", "pegboard-web", "1.0"):
        assert len(store_files(store)) == 1
        assert store.read() == {}
    assert store_files(store) == []


def test_an_import_that_raises_is_no_crash(store):
    with pytest.raises(ValueError), store.marked("web", "pegboard-web", "1.0"):
        raise ValueError
    assert store_files(store) == []


def test_two_hosts_of_one_process_have_markers_of_their_own(store):
    with store.marked("web", "pegboard-web", "1.0"):
        with store.marked("web", "pegboard-web", "1.0"):
            assert len(store_files(store)) == 2
        assert len(store_files(store)) == 1


def death(paths, how, plugin_id="web"):
    code = (
        "import ctypes, os, signal, sys\n"
        "from pegboard.config.paths import Paths\n"
        "from pegboard.plugins.decision.failures import FailureStore\n"
        "store = FailureStore(Paths(*sys.argv[1:]))\n"
        f"with store.marked({plugin_id!r}, 'pegboard-web', '1.0'):\n"
        f"    {how}\n"
    )
    folders = [str(folder) for folder in (paths.config, paths.state, paths.data, paths.cache)]
    return [sys.executable, "-c", code, *folders]


def die(paths, how):
    subprocess.run(death(paths, how), check=False, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize(
    "how",
    ["os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)", "ctypes.string_at(0)"],
    ids=["exit", "kill", "segmentation fault"],
)
def test_the_marker_of_a_dead_process_is_a_crash_of_the_plugin_it_names(paths, store, how):
    die(paths, how)
    failure = store.read()["web"]
    assert failure.crashed
    assert (failure.dist, failure.version, failure.phase) == ("pegboard-web", "1.0", "import")
    assert store.forget("web")
    assert store.read() == {}


def test_a_crash_counts_more_than_an_earlier_failure(paths, store):
    store.record("web", "pegboard-web", "1.0", "import", "x")
    die(paths, "os._exit(0)")
    assert store.read()["web"].crashed


def test_a_failure_after_a_crash_counts_more(paths, store):
    die(paths, "os._exit(0)")
    store.record("web", "pegboard-web", "1.0", "import", "x", stamp="new")
    failure = store.read()["web"]
    assert (failure.crashed, failure.stamp) == (False, "new")


def test_a_number_that_another_process_has_now_does_not_hide_a_crash(paths, store):
    with store.marked("web", "pegboard-web", "1.0"):
        (file,) = store_files(store)
        data = json.loads(file.read_text())
        assert data["pid"] == os.getpid()
        file.write_text(json.dumps({**data, "started": "1"}))
        assert store.read()["web"].crashed


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc")
def test_a_dead_process_that_nobody_has_asked_after_is_a_crash_too(paths, store):
    # as in a container whose first process does not look after orphans
    with subprocess.Popen(death(paths, "os._exit(9)")) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert store.read()["web"].crashed


def test_two_processes_can_import_one_plugin_at_a_time(paths, store):
    with store.marked("web", "pegboard-web", "1.0"):
        die(paths, "os._exit(0)")
        assert store.read()["web"].crashed
    assert store.read()["web"].crashed
    store.forget("web")
    assert store.read() == {}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"dist": 5, "at": "x"}'])
def test_a_damaged_file_stops_nobody(paths, store, content):
    store.record("web", "pegboard-web", "1.0", "import", "x")
    (file,) = store_files(store)
    file.write_bytes(content)
    assert store.read().get("web") in (None, ("5", "", "", "", False, 0.0, "", "", ""))


def test_ids_that_are_paths_stay_in_the_folder(paths, store):
    store.record("../../evil", "x", "1", "import", "x")
    assert [file.parent for file in store_files(store)] == [paths.plugin_failures]


def test_a_state_folder_that_can_not_be_written_stops_no_import(tmp_path):
    (tmp_path / "state").write_text("a file")
    blocked = FailureStore(Paths(tmp_path, tmp_path / "state", tmp_path, tmp_path))
    with blocked.marked("web", "pegboard-web", "1.0"):
        blocked.record("web", "pegboard-web", "1.0", "import", "x")
    assert blocked.read() == {}


def test_what_is_written_is_for_the_owner_only(store):
    store.record("web", "pegboard-web", "1.0", "import", "x")
    (file,) = store_files(store)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def store_files(store):
    from pathlib import Path

    return sorted(Path(store._folder).glob("*"))
