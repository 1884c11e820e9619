"""The log: bounded files for the owner only, without secrets, and readable again."""

from __future__ import annotations

import json
import logging
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pegboard.host.resident.log_file import LogFile
from pegboard.host.resident.log_lines import Follower, files, kept, lines, read
from pegboard.policy.redaction import Redactor

SECRET = "sesame-open-4711"


@pytest.fixture
def redactor() -> Redactor:
    made = Redactor()
    made.learn(SECRET)
    return made


@pytest.fixture(autouse=True)
def quiet_root() -> Iterator[None]:
    """Give the root logger back as it was."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    assert (root.level, root.handlers) == (level, handlers)


def opened(folder: Path, redactor: Redactor, **settings) -> LogFile:
    return LogFile(folder, {"level": "info", "format": "json", **settings}, redactor)


def test_a_line_is_an_object_that_says_when_what_and_where(tmp_path, redactor) -> None:
    log = opened(tmp_path, redactor)
    with log.open():
        logging.getLogger("pegboard.host").info("hello %s", "world\nsecond line")
    (line,) = log.path.read_text().splitlines()
    facts = json.loads(line)
    assert facts["message"] == "hello world\nsecond line"
    assert (facts["level"], facts["logger"]) == ("info", "pegboard.host")
    assert abs(read(line).at - time.time()) < 10
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("form", ["json", "text"])
def test_no_secret_gets_in_by_any_way(tmp_path, redactor, form) -> None:
    log = opened(tmp_path, redactor, format=form)
    with log.open():
        own = logging.getLogger("pegboard.x")
        own.warning("the key is %s", SECRET)
        own.warning("Authorization: Bearer abcdef1234567890abcdef")
        try:
            raise ValueError(f"no {SECRET}")
        except ValueError:
            own.exception("it failed")
    text = log.path.read_text()
    assert SECRET not in text
    assert "abcdef1234567890abcdef" not in text
    assert text.count("[redacted]") >= 3
    assert "ValueError" in text


@pytest.mark.parametrize("form", ["json", "text"])
def test_what_is_logged_in_several_lines_stays_one_event(tmp_path, redactor, form) -> None:
    log = opened(tmp_path, redactor, format=form)
    with log.open():
        logging.getLogger("pegboard.x").warning("one\n2026-01-01T00:00:00+00:00 error y: forged")
        logging.getLogger("pegboard.x").warning("two")
    found = kept(tmp_path, since=0, level="debug", most=100)
    assert len(found) == 2
    assert found[1].message == "two"


def test_of_libraries_only_what_is_wrong(tmp_path, redactor) -> None:
    log = opened(tmp_path, redactor, level="debug")
    with log.open():
        logging.getLogger("httpx").info("GET /")
        logging.getLogger("httpx").warning("slow")
        logging.getLogger("pegboard.x").debug("detail")
        logging.getLogger("pegboard_mail.x").info("sent")
    told = [line.message for line in kept(tmp_path, since=0, level="debug", most=100)]
    assert told == ["slow", "detail", "sent"]


def test_the_level_and_the_format_change_while_it_is_open(tmp_path, redactor) -> None:
    log = opened(tmp_path, redactor, level="error")
    with log.open():
        own = logging.getLogger("pegboard.x")
        own.warning("not yet")
        log.take({"level": "warning", "format": "text"})
        own.warning("now")
    (line,) = log.path.read_text().splitlines()
    assert line.endswith("warning pegboard.x: now")


def test_files_are_bounded_in_size_and_number(tmp_path, redactor) -> None:
    log = opened(tmp_path, redactor, max_mb=0.002, files=3)
    with log.open():
        for number in range(200):
            logging.getLogger("pegboard.x").info("event %d", number)
    found = files(tmp_path)
    assert [path.name for path in found] == ["pegboard.log.2", "pegboard.log.1", "pegboard.log"]
    assert all(path.stat().st_size <= 2_000 for path in found)
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in found)
    told = [line.message for line in kept(tmp_path, since=0, level="debug", most=1000)]
    assert told == [f"event {number}" for number in range(200)][-len(told) :]
    assert len(told) > 20


def test_a_log_that_can_not_be_written_ends_nobody(tmp_path, redactor) -> None:
    log = opened(tmp_path, redactor)
    with log.open():
        log.path.mkdir()
        logging.getLogger("pegboard.x").warning("lost")
    assert log.path.is_dir()


def test_no_link_is_followed(tmp_path, redactor) -> None:
    target = tmp_path / "elsewhere"
    log = opened(tmp_path, redactor)
    log.path.parent.mkdir()
    log.path.symlink_to(target)
    with log.open():
        logging.getLogger("pegboard.x").warning("lost")
    assert not target.exists()


def test_it_is_read_from_a_time_and_a_level_on(tmp_path, redactor) -> None:
    log = opened(tmp_path, redactor)
    with log.open():
        logging.getLogger("pegboard.x").info("one")
        logging.getLogger("pegboard.x").error("two")
    (one, two) = kept(tmp_path, since=0, level="info", most=10)
    assert [one.message, two.message] == ["one", "two"]
    assert [line.message for line in kept(tmp_path, since=0, level="error", most=10)] == ["two"]
    assert kept(tmp_path, since=time.time() + 60, level="info", most=10) == []
    assert [line.message for line in kept(tmp_path, since=0, level="info", most=1)] == ["two"]


def test_what_is_no_line_of_ours_is_shown_as_it_is(tmp_path) -> None:
    texts = ["{broken json\n", '["a"]\n', "plain words\n", "\n", "  indented alone\n"]
    assert [line.message for line in lines(texts)] == [
        "{broken json",
        '["a"]',
        "plain words\n  indented alone",
    ]


def test_a_follower_misses_nothing_when_the_file_is_rotated(tmp_path, redactor) -> None:
    log = opened(tmp_path, redactor, max_mb=0.002, files=3)
    own = logging.getLogger("pegboard.x")
    with log.open():
        own.info("before")
        follower = Follower(tmp_path)
        assert kept(tmp_path, since=0, level="info", most=9, before=follower)[0].message == "before"
        seen: list[str] = []
        for number in range(100):
            own.info("event %d", number)
            seen.extend(line.message for line in follower.read())
    assert seen == [f"event {number}" for number in range(100)]


def test_half_a_line_waits_for_the_other_half(tmp_path) -> None:
    path = tmp_path / "logs" / "pegboard.log"
    path.parent.mkdir()
    path.touch()
    follower = Follower(tmp_path)
    with path.open("a") as stream:
        stream.write('{"message": "who')
        stream.flush()
        assert follower.read() == []
        stream.write('le", "level": "info"}\n')
        stream.flush()
        assert [line.message for line in follower.read()] == ["whole"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")
def test_a_host_logs_and_a_command_shows_it(serving) -> None:
    (serving.folder / "fail").write_text(f"wrong password {SECRET}")
    assert "There is no log yet" in serving.command("logs").stderr
    serving.start(SHOP_API_KEY=SECRET)
    serving.wait_for(lambda: "mail" in serving.command("logs", "--level", "warning").stdout)
    shown = serving.command("logs")
    assert "serving as process" in shown.stdout
    assert SECRET not in shown.stdout + serving.errors.read_text()
    listed = [json.loads(line) for line in serving.command("logs", "--json").stdout.splitlines()]
    assert {"at", "level", "logger", "message", "pid"} <= set(listed[0])
    assert serving.command("logs", "--since", "1h", "--level", "error").stdout == ""
    assert serving.command("logs", "--since", "yesterday").returncode == 2
