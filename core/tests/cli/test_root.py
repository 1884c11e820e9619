"""What works whatever is installed and however broken it is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from pegboard import __version__

HEAVY = (
    "anyio",
    "asyncio",
    "httpx",
    "importlib.metadata",
    "importlib_metadata",
    "jsonschema_rs",
    "mcp",
    "pluggy",
    "prompt_toolkit",
    "pydantic",
    "rich",
    "tomlkit",
)


def test_version_is_one_line(here):
    ended = here.run("--version")
    assert (ended.code, ended.out, ended.err) == (0, f"pegboard {__version__}\n", "")


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["plugins", "--help"]])
def test_help_is_there_with_nothing_installed(here, words):
    ended = here.run(*words)
    assert "Usage: pegboard" in ended.out + ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["plugins", "list", "--json"]])
def test_nothing_heavy_and_no_plugin_is_imported(here, words):
    here.plugin("weather")
    code = (
        "import sys\n"
        "from pegboard.cli.main import main\n"
        f"code = main({words!r})\n"
        "print('MODULES', *sorted(sys.modules), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    ended = here.python_run(["-c", code])
    assert ended.code == 0, ended.err
    modules = ended.err.split("MODULES")[1].split()
    assert not [name for name in modules if name in HEAVY or name.startswith("pegboard_")]


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["config", "--help"]])
def test_a_broken_config_file_does_not_stop_help(here, words):
    here.write_config("this is not = = toml\n")
    assert here.run(*words).code == 0


def test_a_broken_config_file_is_one_message_with_line_and_fix(here):
    here.write_config("[agent]\nmax_steps = = 5\n")
    ended = here.run("plugins", "list")
    assert ended.code == 3
    assert "line 2" in ended.err and "Fix:" in ended.err
    assert "Traceback" not in ended.err


def test_an_unknown_command_gets_a_suggestion(here):
    ended = here.run("plugin", "list")
    assert ended.code == 2
    assert ended.err == ("Error: pegboard has no command 'plugin'.\n  Fix: pegboard plugins\n")


def test_a_command_of_a_missing_package_names_the_package(here):
    ended = here.run("ask", "hello")
    assert ended.code == 4
    assert "pegboard-terminal" in ended.err
    assert "Fix: pip install pegboard-terminal" in ended.err


def test_a_misspelt_command_of_a_missing_package_is_recognised(here):
    ended = here.run("chatt")
    assert (ended.code, "Fix: pegboard chat" in ended.err) == (2, True)


def test_home_set_and_safe_count_for_every_command(here, tmp_path):
    ended = here.run(
        "--home",
        str(tmp_path / "other"),
        "--set",
        "agent.max_steps=7",
        "config",
        "get",
        "agent.max_steps",
        "--json",
    )
    assert (
        ended.json == {"version": 1, "key": "agent.max_steps", "value": 7, "source": "command line"}
        or ended.json["value"] == 7
    )
    here.working_plugin("weather")
    states = {
        item["id"]: item["state"]
        for item in here.run("--safe", "plugins", "list", "--json").json["plugins"]
    }
    assert states == {"weather": "untrusted"}


def test_a_setting_without_a_value_is_refused(here):
    ended = here.run("--set", "agent", "plugins", "list")
    assert ended.code == 2
    assert "key=value" in ended.err


def test_usage_errors_are_json_too_when_json_was_asked_for(here):
    ended = here.run("plugins", "list", "--json", "--nope")
    assert ended.code == 2
    assert ended.json["error"]["code"] == "usage"


def test_colour_is_there_in_a_terminal_only_and_can_be_switched_off(here):
    here.plugin("weather")
    assert "\x1b[" not in here.run("plugins", "list").out
    assert "\x1b[32mready\x1b[0m" in here.in_terminal("plugins", "list").out
    assert "\x1b[" not in here.in_terminal("--no-color", "plugins", "list").out
    assert "\x1b[" not in here.in_terminal("plugins", "list", env={"NO_COLOR": "1"}).out
    assert "\x1b[" not in here.in_terminal("plugins", "list", env={"TERM": "dumb"}).out


def test_a_long_last_column_is_folded_in_a_terminal_and_whole_in_a_pipe(here):
    words = "one two three four five six seven eight nine ten eleven twelve thirteen"
    here.plugin(
        "weather",
        manifest={
            "tools": [],
            "contributions": [{"kind": "command", "name": word} for word in words.split()],
        },
    )
    lines = here.in_terminal("--no-color", "plugins", "list").out.splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[2].startswith("                         ")
    assert "twelve, thirteen" in here.run("plugins", "list").out.splitlines()[1]


@pytest.mark.parametrize(("value", "state"), [("1", "untrusted"), ("0", "ready")])
def test_safe_mode_can_come_from_the_environment(here, value, state):
    here.plugin("weather")
    ended = here.run("plugins", "list", "--json", env={"PEGBOARD_SAFE_MODE": value})
    assert ended.json["plugins"][0]["state"] == state


@pytest.mark.parametrize("words", [["plugins"], ["tools"], ["config"], ["secret"], []])
def test_a_group_alone_shows_its_help(here, words):
    ended = here.run(*words)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: {' '.join(['pegboard', *words])} [OPTIONS]")


def test_a_reader_that_goes_away_is_no_error(here):
    for number in range(30):
        here.plugin(f"weather-{number}", manifest={"summary": "x" * 4000})
    command = f"'{here.python}' -m pegboard config schema | head -c 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env=here.env,
        cwd=here.work,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode in (0, 141)


@pytest.mark.parametrize("words", ["--version", "plugins list", "tools list --json"])
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_no_reason_to_fail(here, words, closed):
    command = f"'{here.python}' -m pegboard {words} {closed}"
    done = subprocess.run(
        ["bash", "-c", command], env=here.env, cwd=here.work, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
@pytest.mark.parametrize("words", ["--version", "plugins list", "tools list --json"])
def test_an_output_that_takes_nothing_is_one_message(here, words):
    command = f"'{here.python}' -m pegboard {words} >/dev/full"
    done = subprocess.run(
        ["bash", "-c", command], env=here.env, cwd=here.work, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_interrupt_ends_with_130_and_one_word(here):
    here.plugin("slow", code="import time; time.sleep(60)\n", manifest=None)
    process = subprocess.Popen(
        [str(here.python), "-m", "pegboard", "tools", "list"],
        env=here.env,
        cwd=here.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(2)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "Traceback" not in err and "Interrupted." in err
    assert out == ""


LIVING = """
from pathlib import Path
from pegboard import Plugin

plugin = Plugin(activate="boot")


@plugin.lifespan
async def lifespan(context):
    yield
    Path("ended").touch()


@plugin.tool(effects=())
async def wait_long() -> str:
    "Wait."
    import anyio
    Path("begun").touch()
    await anyio.sleep(60)
    return "done"
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_closes_what_is_open_and_ends_with_143(here, number):
    here.plugin("living", code=LIVING, manifest=None)
    process = subprocess.Popen(
        [str(here.python), "-m", "pegboard", "tools", "call", "wait_long"],
        env=here.env,
        cwd=here.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 30
    while not (here.work / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 143, err
    assert f"Terminated by {number.name}." in err
    assert "Traceback" not in err
    assert (here.work / "ended").exists()
    assert out == ""


def test_a_signal_during_an_import_is_no_crash_of_that_plugin(here):
    here.plugin("slow", code="open('begun', 'w')\nimport time; time.sleep(60)\n", manifest=None)
    process = subprocess.Popen(
        [str(here.python), "-m", "pegboard", "tools", "list"],
        env=here.env,
        cwd=here.work,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not (here.work / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.terminate()
    _, err = process.communicate(timeout=30)
    assert process.returncode == 143, err
    (record,) = here.run("plugins", "list", "--json").json["plugins"]
    assert record["state"] == "unmanifested"


COMMAND = '''
import click
from pegboard import Plugin

plugin = Plugin()
print("noise at import")

def make():
    @click.command("greet")
    @click.argument("who")
    @click.pass_obj
    def greet(session, who):
        """Greet somebody."""
        click.echo(f"hello {who} {session.options.workspace.name}")
    return greet

plugin.contribute("command", "greet", make, summary="Greet somebody.")
'''
GREET = {
    "tools": [],
    "contributions": [{"kind": "command", "name": "greet", "summary": "Greet somebody."}],
}


def test_a_command_of_a_plugin_is_in_help_without_being_imported(here):
    here.plugin("greet", manifest=GREET)
    ended = here.run("--help")
    assert ended.code == 0
    assert "Commands of plugins:\n  greet  Greet somebody.\n" in ended.out


def test_a_command_of_a_plugin_runs_and_its_plugins_noise_stays_out_of_the_output(here):
    here.plugin("greet", code=COMMAND, manifest=GREET)
    ended = here.run("greet", "you")
    assert (ended.code, ended.out) == (0, "hello you work\n"), ended.err
    assert "noise at import" in ended.err
    assert "Usage: pegboard greet [OPTIONS] WHO" in here.run("greet", "--help").out


def test_a_command_of_a_plugin_without_a_manifest_runs_as_well(here):
    here.plugin("greet", code=COMMAND, manifest=None)
    assert here.run("greet", "you").out == "hello you work\n"


def test_a_command_of_a_broken_plugin_says_whose_it_is_and_why_it_is_broken(here):
    here.plugin("greet", manifest={**GREET, "api": ">=9"})
    ended = here.run("greet", "you")
    assert ended.code == 4
    assert "pegboard-greet 1.0.0" in ended.err and "incompatible" in ended.err
    assert "Traceback" not in ended.err


def test_a_command_whose_plugin_raises_at_import_is_one_message(here):
    here.plugin("greet", code="raise ValueError('no luck')\n", manifest=GREET)
    ended = here.run("greet", "you")
    assert ended.code == 4
    assert "no luck" in ended.err and "Traceback" not in ended.err


def test_a_bug_in_a_command_of_a_plugin_is_the_plugins(here):
    here.plugin("greet", code=COMMAND.replace("click.echo(", "1 / 0, ("), manifest=GREET)
    ended = here.run("greet", "you")
    assert ended.code == 4
    assert ended.err.splitlines()[-2:] == [
        "Error: The plugin greet failed: ZeroDivisionError: division by zero",
        "  Fix: run it again with PEGBOARD_DEBUG=1 and report the traceback",
    ]


def test_a_factory_that_makes_no_command_is_the_plugins_fault(here):
    here.plugin("greet", code=COMMAND.replace("return greet", "return 5"), manifest=GREET)
    ended = here.run("greet", "you")
    assert ended.code == 4
    assert "not a click.Command" in ended.err and "pegboard plugins disable greet" in ended.err


def test_a_factory_that_leaves_is_the_plugins_fault_and_no_success(here):
    code = COMMAND.replace("def make():", "def make():\n    raise SystemExit(0)")
    here.plugin("greet", code=code, manifest=GREET)
    ended = here.run("greet")
    assert ended.code == 4
    assert "can't make its command 'greet': SystemExit: 0" in ended.err
    assert "Fix: pegboard plugins disable greet" in ended.err


def test_a_command_that_pegboard_has_itself_stays_its_own_and_the_doctor_says_so(here):
    manifest = {"contributions": [{"kind": "command", "name": "doctor"}]}
    here.plugin("greeter", manifest=manifest)
    assert "greeter" not in here.run("doctor", "--help").out
    told = here.run("plugins", "doctor").out
    assert "bring this command, which is Pegboard's own" in told


def test_a_command_that_two_plugins_bring_is_nobodys(here):
    here.plugin("greet", manifest=GREET)
    here.plugin("hail", manifest=GREET)
    ended = here.run("greet", "you")
    assert ended.code == 4
    assert "pegboard-greet" in ended.err and "pegboard-hail" in ended.err
    assert "greet" not in here.run("--help").out


def test_a_chat_command_that_nobody_gets_is_told_with_what_mends_it(here):
    for plugin_id, word in (("greet", "hi"), ("hail", "hi"), ("aid", "help")):
        facts = {"tool": f"{plugin_id}_hello"}
        brings = [{"kind": "chat_command", "name": word, "facts": facts}]
        here.plugin(plugin_id, manifest={"contributions": brings})
    listed = here.run("plugins", "list")
    assert "chat command /hi" in listed.out
    both = "greet (pegboard-greet) and hail (pegboard-hail) both bring the chat command /hi"
    own = "aid (pegboard-aid) can't have the chat command /help, which is Pegboard's own"
    for told in (listed.out, here.run("plugins", "doctor").out):
        assert both in told and "pegboard plugins disable hail" in told
        assert own in told and "pegboard plugins disable aid" in told


def test_completion_prints_a_script_and_completes_names(here):
    here.plugin("greet", manifest=GREET)
    assert "_PEGBOARD_COMPLETE" in here.run("completion", "bash").out
    found = here.python_run(
        ["-m", "pegboard"],
        env={
            "_PEGBOARD_COMPLETE": "bash_complete",
            "COMP_WORDS": "pegboard gree",
            "COMP_CWORD": "1",
        },
    )
    assert found.out == "plain,greet\n"
    ids = here.python_run(
        ["-m", "pegboard"],
        env={
            "_PEGBOARD_COMPLETE": "bash_complete",
            "COMP_WORDS": "pegboard plugins why ",
            "COMP_CWORD": "3",
        },
    )
    assert ids.out == "plain,greet\n"


def test_json_of_every_listing_is_one_object(here):
    here.plugin("weather")
    for words in (
        ["plugins", "list"],
        ["plugins", "order"],
        ["plugins", "rescan"],
        ["config", "show"],
        ["config", "check"],
        ["secret", "list"],
        ["plugins", "show", "weather"],
        ["plugins", "why", "weather"],
        ["plugins", "inspect", "weather"],
    ):
        ended = here.run(*words, "--json")
        assert ended.code == 0, (words, ended.err)
        assert json.loads(ended.out)["version"] == 1
