from __future__ import annotations

import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard.cli.service_units import Service, is_name, launchd_agent, systemd_unit

ODD = 'a b"c\\d%e$f'


def service(**facts) -> Service:
    given = {
        "name": "pegboard",
        "command": ("/opt/py/bin/python", "-m", "pegboard", "serve"),
        "folder": Path("/srv/work"),
        "env": {"PEGBOARD_HOME": "/srv/home", "PATH": "/usr/bin:/bin"},
        "drain_s": 30.0,
    }
    return Service(**{**given, **facts})


def verified(folder: Path, text: str) -> str:
    """Return what systemd says of a unit; "" = nothing is wrong."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here")
    unit = folder / "pegboard.service"
    unit.write_text(text, encoding="utf-8")
    ended = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(unit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"XDG_RUNTIME_DIR": str(folder), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )
    return "\n".join(line for line in ended.stderr.splitlines() if "pegboard.service" in line)


def test_a_unit_says_how_the_host_is_started_watched_and_ended() -> None:
    lines = systemd_unit(service()).splitlines()
    for line in (
        "Type=notify",
        "ExecStart=/opt/py/bin/python -m pegboard serve",
        "ExecReload=/bin/kill -HUP $MAINPID",
        "WorkingDirectory=/srv/work",
        "Environment=PEGBOARD_HOME=/srv/home",
        "Restart=on-failure",
        "WatchdogSec=60",
        "TimeoutStopSec=60",
        "UMask=0077",
        "WantedBy=default.target",
    ):
        assert line in lines
    assert "User=" not in "\n".join(lines)


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    text = systemd_unit(
        service(command=(sys.executable, "-m", "pegboard", "serve"), folder=tmp_path)
    )
    assert verified(tmp_path, text) == ""


def test_systemd_takes_words_with_anything_in_them(tmp_path: Path) -> None:
    folder = tmp_path / ODD
    folder.mkdir()
    python = folder / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    text = systemd_unit(
        service(command=(str(python), ODD), folder=folder, env={"X": ODD, "Y": "line\nbreak"})
    )
    assert "%%e" in text
    assert verified(tmp_path, text) == ""


def test_an_agent_of_launchd_says_the_same() -> None:
    text = launchd_agent(service(name="dev.pegboard.x&y", env={"X": "<&>"}))
    found = plistlib.loads(text.encode())
    assert found["Label"] == "dev.pegboard.x&y"
    assert found["ProgramArguments"] == ["/opt/py/bin/python", "-m", "pegboard", "serve"]
    assert found["WorkingDirectory"] == "/srv/work"
    assert found["EnvironmentVariables"] == {"X": "<&>"}
    assert found["KeepAlive"] == {"SuccessfulExit": False}
    assert (found["ExitTimeOut"], found["Umask"]) == (60, 0o077)


@pytest.mark.parametrize(
    ("name", "right"),
    [("pegboard", True), ("a-b_c.1", True), ("", False), ("../x", False), ("a b", False)],
)
def test_names(name: str, right: bool) -> None:
    assert is_name(name) is right


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="writes a systemd unit")


@linux
def test_it_is_installed_and_what_to_run_next_is_said(here) -> None:
    ended = here.run("service", "install")
    assert ended.code == 0, ended.err
    unit = Path(here.env["HOME"]) / ".config" / "systemd" / "user" / "pegboard.service"
    text = unit.read_text()
    assert f"ExecStart={here.python} -m pegboard serve" in text
    assert f"Environment=PEGBOARD_HOME={here.home}" in text
    assert f"WorkingDirectory={here.work}" in text
    assert "systemctl --user enable --now pegboard" in ended.out
    assert "loginctl enable-linger" in ended.out
    assert "is as it was" in here.run("service", "install").out
    status = here.run("service", "status", "--json").json
    assert (status["installed"], status["current"], status["running"]) == (True, True, None)


@linux
def test_another_home_and_workspace_make_it_another_unit(here) -> None:
    here.run("service", "install")
    (here.work / "sub").mkdir()
    ended = here.run("service", "install", "--workspace", "sub", "--json")
    assert ended.json["changed"] is True
    assert ended.json["workspace"] == str(here.work / "sub")
    assert here.run("service", "status", "--json").json["current"] is True
    assert here.run("config", "set", "serve.drain_s", "90").code == 0
    assert here.run("service", "status", "--json").json["current"] is False
    assert "not as it would be written now" in here.run("service", "status").out


@linux
def test_a_file_of_somebody_else_is_left_alone(here) -> None:
    unit = Path(here.env["HOME"]) / ".config" / "systemd" / "user" / "pegboard.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    ended = here.run("service", "install")
    assert (ended.code, "--replace" in ended.err) == (2, True)
    assert here.run("service", "uninstall").code == 2
    assert "/bin/true" in unit.read_text()
    assert here.run("service", "install", "--replace").code == 0
    assert "/bin/true" not in unit.read_text()


@linux
def test_it_is_removed_and_how_to_end_it_is_said(here) -> None:
    here.run("service", "install", "--name", "second")
    ended = here.run("service", "uninstall", "--name", "second")
    assert "second.service is removed" in ended.out
    assert "systemctl --user disable --now second" in ended.out
    assert here.run("service", "uninstall", "--name", "second", "--json").json["removed"] is False
    assert here.run("service", "status", "--name", "second", "--json").json["installed"] is False


@linux
def test_a_name_that_is_none_is_refused(here) -> None:
    assert here.run("service", "install", "--name", "../evil").code == 2
