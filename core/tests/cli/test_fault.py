from __future__ import annotations

import json

import click
import pytest

from pegboard.cli.fault import innermost, report
from pegboard.cli.output import Output
from pegboard.contracts.errors import ConfigError, PluginError


def test_an_error_is_one_message_one_fix_and_its_own_exit_code(
    capsys: pytest.CaptureFixture[str],
):
    assert report(ConfigError("It is wrong.", fix="mend it"), Output()) == 3
    shown = capsys.readouterr()
    assert shown.err == "Error: It is wrong.\n  Fix: mend it\n"
    assert shown.out == ""


def test_with_json_the_error_is_the_answer_as_well(capsys: pytest.CaptureFixture[str]):
    output = Output()
    output.json_wanted = True
    report(PluginError("Gone.", fix="find it", plugin="web"), output)
    answer = json.loads(capsys.readouterr().out)
    assert answer == {
        "version": 1,
        "error": {"code": "plugin_error", "message": "Gone.", "fix": "find it", "plugin": "web"},
    }


def test_a_bug_is_named_without_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("PEGBOARD_DEBUG", raising=False)
    assert report(ZeroDivisionError("oh"), Output()) == 1
    shown = capsys.readouterr().err
    assert "ZeroDivisionError: oh" in shown
    assert "Traceback" not in shown
    assert "PEGBOARD_DEBUG=1" in shown


def test_the_traceback_is_there_for_who_asks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PEGBOARD_DEBUG", "1")
    try:
        raise PluginError("Gone.")
    except PluginError as error:
        report(error, Output())
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interrupt_ends_with_130(error: BaseException):
    assert report(error, Output()) == 130


def test_a_bundle_of_errors_is_about_the_one_that_a_person_can_act_on():
    mine = PluginError("mine")
    inner = ExceptionGroup("tasks", [ValueError("noise"), mine])
    assert innermost(ExceptionGroup("outer", [OSError("noise"), inner])) is mine
    interrupt = KeyboardInterrupt()
    assert innermost(BaseExceptionGroup("outer", [mine, interrupt])) is interrupt
