from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import time

import anyio
import pytest

from pegboard.contracts.errors import PluginError
from pegboard.plugins.decision.failures import FailureStore
from pegboard.plugins.decision.state import State

pytestmark = pytest.mark.anyio

GREETER = """
plugin = Plugin()

@plugin.tool(effects=["read"])
async def greet(name: str) -> str:
    \"\"\"Greet somebody.\"\"\"
    return f"hello {name}"
"""
LOGGED = "with open(__file__ + '.log', 'a') as log: log.write('x')\n"
COUNTED = (
    """
import builtins, time
builtins.pegboard_imports = getattr(builtins, "pegboard_imports", 0) + 1
time.sleep(0.1)
"""
    + GREETER
)


async def test_fifty_first_calls_at_the_same_time_are_one_import(environment):
    import builtins

    environment.add("greeter", GREETER)
    environment.rewrite("greeter", COUNTED)
    found = []
    async with environment.activator() as activator:

        async def ask() -> None:
            found.append(await activator.resolve("greeter", "tool", "greet"))

        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(ask)
    assert builtins.pegboard_imports == 1
    assert len(found) == 50
    assert len({id(function) for function in found}) == 1
    assert await found[0]("you") == "hello you"
    del builtins.pegboard_imports


async def test_a_caller_who_gives_up_does_not_stop_the_import_for_others(environment):
    environment.add("greeter", GREETER)
    environment.rewrite("greeter", COUNTED)
    async with environment.activator() as activator:
        with anyio.move_on_after(0.02) as scope:
            await activator.activate("greeter")
        assert scope.cancelled_caught
        assert (await activator.activate("greeter")).record.state is State.ACTIVE


async def test_the_event_loop_goes_on_while_a_plugin_is_imported(environment):
    environment.add("greeter", GREETER)
    environment.rewrite("greeter", "import time; time.sleep(0.3)\n" + GREETER)
    ticks = 0
    async with environment.activator() as activator, anyio.create_task_group() as group:

        async def tick() -> None:
            nonlocal ticks
            while True:
                await anyio.sleep(0.01)
                ticks += 1

        group.start_soon(tick)
        await activator.activate("greeter")
        group.cancel_scope.cancel()
    assert ticks > 10


@pytest.mark.parametrize(
    "fault, word",
    [
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import sys; sys.exit()", "SystemExit"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise StopIteration", "StopIteration"),
        ("import asyncio; raise asyncio.CancelledError", "CancelledError"),
        ("class Own(BaseException): pass\nraise Own('no')", "Own: no"),
        ("1 / 0", "ZeroDivisionError"),
        ("import module_that_is_not_there", "No module named 'module_that_is_not_there'"),
        ("def (", "SyntaxError"),
        ("from pegboard import Plugim", "cannot import name 'Plugim'"),
    ],
)
async def test_whatever_an_import_raises_fails_that_plugin_only(environment, fault, word):
    environment.add("broken", GREETER)
    environment.add("greeter", GREETER)
    environment.rewrite("broken", fault)
    async with environment.activator() as activator:
        with pytest.raises(PluginError) as caught:
            await activator.activate("broken")
        assert "broken_pkg 1.0" in caught.value.message
        assert word in caught.value.message
        assert caught.value.fix
        record = activator.record("broken")
        assert (record.state, record.details["phase"]) == (State.FAILED, "import")
        assert (await activator.activate("greeter")).record.state is State.ACTIVE
    stored = FailureStore(environment.paths).read()["broken"]
    assert (stored.version, stored.phase, stored.crashed) == ("1.0", "import", False)
    assert 'plugin.py", line' in stored.traceback
    assert ("broken", "failed") in environment.states


async def test_a_plugin_that_fails_is_not_imported_again_and_again(environment):
    environment.add("broken", GREETER)
    environment.rewrite("broken", LOGGED + "1 / 0")
    async with environment.activator() as activator:
        for _ in range(3):
            with pytest.raises(PluginError):
                await activator.activate("broken")
    assert (environment.site / "broken_pkg" / "plugin.py.log").read_text() == "x"


def test_ctrl_c_during_an_import_ends_the_host_and_is_no_crash_of_the_plugin(environment):
    environment.add("sleepy", GREETER)
    environment.rewrite(
        "sleepy",
        """
        import os, signal, time
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(30)
        """,
    )
    began = time.monotonic()
    done = run_host(environment, "sleepy")
    assert time.monotonic() - began < 10
    assert done.stderr.strip().endswith("KeyboardInterrupt")
    assert environment.boot().record("sleepy").state is State.READY
    assert list(environment.paths.plugin_failures.iterdir()) == []


async def test_half_imported_modules_are_forgotten_and_others_are_kept(environment):
    environment.add("broken", GREETER, parts="VALUE = 1")
    environment.rewrite("broken", "import colorsys\nfrom broken_pkg import parts\n1 / 0")
    sys.modules.pop("colorsys", None)
    async with environment.activator() as activator:
        with pytest.raises(PluginError):
            await activator.activate("broken")
    assert [name for name in sys.modules if name.startswith("broken_pkg")] == []
    assert "colorsys" in sys.modules


async def test_modules_that_were_there_before_stay(environment):
    package = environment.add("broken", GREETER, parts="VALUE = 1")
    environment.rewrite("broken", "1 / 0")
    import importlib

    parts = importlib.import_module(f"{package}.parts")
    async with environment.activator() as activator:
        with pytest.raises(PluginError):
            await activator.activate("broken")
    assert sys.modules[f"{package}.parts"] is parts


async def test_a_hung_import_is_left_alone_and_named_with_the_line(environment):
    environment.config["plugins"]["import_timeout_s"] = 0.3
    environment.add("sleepy", GREETER)
    environment.rewrite("sleepy", "import time\ntime.sleep(5)")
    began = time.monotonic()
    async with environment.activator() as activator:
        with pytest.raises(PluginError) as caught:
            await activator.activate("sleepy")
    assert time.monotonic() - began < 3
    assert "did not end within 0.3 s" in caught.value.message
    assert "sleepy_pkg/plugin.py, line" in caught.value.message
    failures = FailureStore(environment.paths).read()
    assert not failures["sleepy"].crashed
    assert "time.sleep(5)" in failures["sleepy"].traceback
    assert not [name for name in sys.modules if name.startswith("sleepy_pkg")]


def test_a_process_whose_plugin_hangs_still_ends(environment):
    environment.add("sleepy", GREETER)
    environment.rewrite("sleepy", "import threading\nthreading.Event().wait()")
    done = run_host(environment, "sleepy", timeout="0.5")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("PluginError: plugin sleepy can't be used (failed)")


def test_what_a_plugin_prints_when_imported_never_reaches_standard_output(environment):
    environment.add("noisy", GREETER)
    environment.rewrite(
        "noisy",
        """
        import os, subprocess, sys, threading
        print("from print")
        sys.stdout.write("from write\\n")
        os.write(1, b"from os.write\\n")
        subprocess.run([sys.executable, "-c", "print('from a child')"])
        import click
        click.echo("from click")
        thread = threading.Thread(target=print, args=("from a thread",))
        thread.start(); thread.join()
        for _ in range(20_000):
            print("flood " * 10)
        """,
        GREETER,
    )
    done = run_host(environment, "noisy")
    assert done.stdout == "the host's own line\n"
    for words in ("print", "write", "os.write", "a child", "click", "a thread"):
        assert f"from {words}\n" in done.stderr
    assert "noisy: further output is dropped" in done.stderr
    assert len(done.stderr) < 100_000


@pytest.mark.parametrize("how", ["import os; os._exit(7)", "import os; os.abort()"])
def test_an_import_that_kills_the_process_is_named_by_the_next_boot(environment, how):
    environment.add("deadly", GREETER)
    environment.rewrite("deadly", how)
    assert run_host(environment, "deadly").returncode != 0
    record = environment.boot().record("deadly")
    assert record.state is State.FAILED
    assert "the whole process died while importing deadly_pkg 1.0" in record.reason
    assert record.fix == (
        "pip install --upgrade deadly_pkg; to try this version again: "
        "`pegboard plugins enable deadly`"
    )


def test_settings_that_kill_the_process_are_a_crash_of_their_plugin_too(environment):
    code = GREETER.replace("Plugin()", 'Plugin(config="deadly_pkg.config:Settings")')
    model = "from pydantic import BaseModel\nclass Settings(BaseModel): pass\n"
    environment.add("deadly", code, config=model)
    (environment.site / "deadly_pkg" / "config.py").write_text("import os; os._exit(7)")
    assert run_host(environment, "deadly").returncode == 7
    assert "the whole process died" in environment.boot().record("deadly").reason


def run_host(
    environment, plugin_id: str, *, timeout: str = "20"
) -> subprocess.CompletedProcess[str]:
    """Activate one plugin in a process that guards its output, as the command line does."""
    code = textwrap.dedent(f"""
        import anyio, sys
        sys.path.insert(0, {str(environment.site)!r})
        from pegboard.config.load import load
        from pegboard.config.paths import find_paths
        from pegboard.contracts.clock import SystemClock
        from pegboard.contracts.errors import PluginError
        from pegboard.plugins.running.activate import Activator
        from pegboard.plugins.decision.boot import boot
        from pegboard.plugins.decision.failures import FailureStore
        from pegboard.plugins.running.guard_stdout import divert_stdout
        from pegboard.store.plugin_storage import PluginStorage
        async def main():
            paths = find_paths()
            config = load(paths, overrides={{"plugins.import_timeout_s": {timeout}}})
            async with Activator(boot(config, retry_failed=True), failures=FailureStore(paths),
                    secret=lambda name: None, clock=SystemClock(),
                    storage=lambda id: PluginStorage(id, paths.plugin_storage(id), SystemClock()),
                    swap_family=lambda *a: None) as activator:
                try:
                    await activator.activate({plugin_id!r})
                    print("the host's own line")
                except PluginError as error:
                    print(f"PluginError: {{error}}")
        divert_stdout()
        anyio.run(main)
        """)
    home = str(environment.paths.config.parent)
    return subprocess.run(
        [sys.executable, "-c", code],
        env={"PEGBOARD_HOME": home, "PATH": ""},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


async def test_a_marker_lies_on_disk_only_while_the_import_runs(environment):
    environment.add("greeter", GREETER)
    folder = environment.paths.plugin_failures
    environment.rewrite(
        "greeter",
        f"""
        from pathlib import Path
        SEEN = [path.name for path in Path({str(folder)!r}).iterdir()]
        """,
        GREETER,
    )
    async with environment.activator() as activator:
        await activator.activate("greeter")
    assert any(name.startswith("greeter.") for name in sys.modules["greeter_pkg.plugin"].SEEN)
    assert list(folder.iterdir()) == []


async def test_a_success_forgets_an_earlier_failure(environment):
    environment.add("greeter", GREETER)
    store = FailureStore(environment.paths)
    store.record("greeter", "greeter_pkg", "1.0", "import", "Traceback ...")
    async with environment.activator() as activator:
        await activator.activate("greeter")
    assert store.read() == {}


async def test_a_thread_that_an_import_leaves_behind_is_reported(environment):
    environment.add("greeter", GREETER)
    environment.rewrite(
        "greeter",
        """
        import threading
        STOP = threading.Event()
        threading.Thread(target=STOP.wait, name="lingering").start()
        """,
        GREETER,
    )
    async with environment.activator() as activator:
        await activator.activate("greeter")
    sys.modules["greeter_pkg.plugin"].STOP.set()
    assert [what for who, what in environment.reports if who == "greeter"] == [
        "its import starts the thread 'lingering'; start threads in the lifespan"
    ]


@pytest.mark.parametrize(
    "code, words",
    [
        (GREETER.replace('["read"]', '["read", "exec"]'), "tool greet has more effects: exec"),
        (GREETER.replace('effects=["read"]', ""), "tool greet has unknown effects"),
        (GREETER.replace(")\nasync", ', audience="owner")\nasync'), "tool greet is for owner"),
        (
            GREETER.replace(")\nasync", ', control="config")\nasync'),
            "tool greet has another control: config, not None",
        ),
        (
            GREETER.replace(")\nasync", ', capability="orch:read")\nasync'),
            "tool greet has another capability: orch:read, not None",
        ),
        (GREETER.replace("greet(", "wave("), "tool wave is not in the manifest"),
        (
            GREETER + "\n@plugin.hook\ndef pegboard_event(event): ...",
            "hook pegboard_event is not in the manifest",
        ),
        (GREETER.replace("Plugin()", "Plugin(secrets=['k'])"), "secret k is not in the manifest"),
        (
            GREETER + "\nplugin.family('x_', effects=['read'])",
            "family x_ is not in the manifest",
        ),
        (
            GREETER + "\nplugin.contribute('provider', 'p', print)",
            "contribution provider p is not in the manifest",
        ),
    ],
)
async def test_code_that_does_more_than_its_manifest_says_is_refused(environment, code, words):
    environment.add("greeter", GREETER)
    environment.rewrite("greeter", code)
    async with environment.activator() as activator:
        with pytest.raises(PluginError) as caught:
            await activator.activate("greeter")
    assert words in caught.value.message
    assert caught.value.fix == "pegboard plugins build greeter"
    assert FailureStore(environment.paths).read()["greeter"].phase == "verify"


async def test_fewer_effects_than_the_manifest_lists_are_fine(environment):
    environment.add("greeter", GREETER.replace('["read"]', '["read", "exec"]'))
    environment.rewrite("greeter", GREETER)
    async with environment.activator() as activator:
        assert (await activator.activate("greeter")).record.state is State.ACTIVE


async def test_a_plugin_that_is_not_usable_says_why(environment):
    environment.add("greeter", GREETER)
    environment.config["plugins"]["disabled"] = ["greeter"]
    async with environment.activator() as activator:
        with pytest.raises(PluginError, match=r"greeter can't be used \(disabled\)") as caught:
            await activator.activate("greeter")
        assert caught.value.fix
        with pytest.raises(PluginError, match="no plugin 'greter' is installed"):
            await activator.activate("greter")


async def test_what_a_plugin_does_not_bring_is_said_with_a_suggestion(environment):
    environment.add("greeter", GREETER)
    async with environment.activator() as activator:
        with pytest.raises(PluginError, match="has no tool greett; did you mean 'greet'"):
            await activator.resolve("greeter", "tool", "greett")
        with pytest.raises(PluginError, match="has no provider greet"):
            await activator.resolve("greeter", "provider", "greet")


async def test_wrong_settings_are_misconfigured_with_one_line_for_each(environment):
    code = GREETER.replace("Plugin()", 'Plugin(config="greeter_pkg.config:Settings")')
    config = """
    from pydantic import BaseModel, field_validator
    class Settings(BaseModel):
        words: list[str] = []
        loud: bool = False
        @field_validator("words")
        @classmethod
        def no_spaces(cls, value):
            if any(" " in word for word in value):
                raise ValueError("a word has no space")
            return value
    """
    environment.add("greeter", code, config=config)
    environment.config["plugins"]["greeter"] = {"words": ["a b"]}
    async with environment.activator() as activator:
        with pytest.raises(PluginError) as caught:
            await activator.activate("greeter")
        assert activator.record("greeter").state is State.MISCONFIGURED
    assert "plugins.greeter.words: a word has no space" in caught.value.message
    environment.config["plugins"]["greeter"] = {"words": ["ab"]}
    async with environment.activator() as activator:
        plugin = await activator.activate("greeter")
        assert plugin.context.config.words == ["ab"]
        assert plugin.context.config.loud is False


async def test_a_plugin_without_manifest_is_built_in_memory_and_then_like_any_other(environment):
    environment.add("plain", GREETER, manifest=False)
    environment.add("broken", "1 / 0", manifest=False)
    environment.add("far", GREETER.replace("Plugin()", "Plugin(api='>=9')"), manifest=False)
    async with environment.activator() as activator:
        found = await activator.build_unmanifested()
        plain = found.record("plain")
        assert plain.state is State.UNMANIFESTED
        assert plain.manifest is not None
        assert [tool["name"] for tool in plain.manifest.tools] == ["greet"]
        assert found.record("broken").state is State.FAILED
        assert "ZeroDivisionError" in found.record("broken").reason
        assert found.record("far").state is State.INCOMPATIBLE
        assert (await activator.activate("plain")).record.state is State.ACTIVE
    assert FailureStore(environment.paths).read().keys() == {"broken"}


async def test_a_plugin_without_manifest_is_imported_once(environment):
    code = LOGGED + GREETER
    environment.add("plain", code, manifest=False)
    async with environment.activator() as activator:
        await activator.build_unmanifested()
        await activator.activate("plain")
    assert (environment.site / "plain_pkg" / "plugin.py.log").read_text() == "x"


async def test_a_module_with_bare_hooks_is_as_good_as_a_plugin_object(environment):
    code = """
    from pegboard import PluginInfo
    pegboard_plugin = PluginInfo(summary="Bare.", secrets=("key",))

    @tool(effects=["read"])
    def bare() -> str:
        "Say it."
        return "bare"

    @hookimpl
    def pegboard_tools():
        return [bare]

    @hookimpl
    def pegboard_tool_guard(event):
        return None
    """
    environment.add("bare", code, entry="plugin:__dict__", manifest=False)
    info = environment.site / "bare_pkg-1.0.dist-info" / "entry_points.txt"
    info.write_text("[pegboard.plugins]\nbare = bare_pkg.plugin\n")
    environment.build("bare", "bare_pkg.plugin")
    assert environment.manifest("bare")["hooks"] == {"pegboard_tool_guard": []}
    assert environment.manifest("bare")["summary"] == "Bare."
    async with environment.activator() as activator:
        assert await activator.resolve_hook("bare", "pegboard_tool_guard") is not None
        assert (await activator.resolve("bare", "tool", "bare"))() == "bare"


async def test_adopting_a_new_boot_stops_what_is_gone_and_keeps_what_runs(environment):
    environment.add("greeter", GREETER)
    environment.add("other", GREETER)
    async with environment.activator() as activator:
        await activator.activate("greeter")
        kept = await activator.activate("other")
        environment.config["plugins"]["disabled"] = ["greeter"]
        await activator.adopt(environment.boot())
        assert activator.active("greeter") is None
        assert activator.record("greeter").state is State.DISABLED
        assert await activator.activate("other") is kept
        environment.config["plugins"]["disabled"] = []
        await activator.adopt(environment.boot())
        assert (await activator.activate("greeter")).record.state is State.ACTIVE


async def test_adopting_a_new_boot_gives_a_failed_plugin_another_try(environment):
    environment.add("greeter", GREETER)
    environment.rewrite("greeter", "1 / 0")
    async with environment.activator() as activator:
        with pytest.raises(PluginError):
            await activator.activate("greeter")
        environment.rewrite("greeter", GREETER + "\n# mended\n")
        await activator.adopt(environment.boot())
        assert (await activator.activate("greeter")).record.state is State.ACTIVE


async def test_an_error_in_the_hosts_block_comes_out_as_it_is(environment):
    environment.add("greeter", GREETER)
    with pytest.raises(ValueError, match="mine"):
        async with environment.activator() as activator:
            await activator.activate("greeter")
            raise ValueError("mine")


async def test_ending_while_a_plugin_is_imported_does_not_wait_for_it(environment):
    environment.add("sleepy", GREETER)
    environment.rewrite("sleepy", "import time\ntime.sleep(3)\n" + GREETER)
    began = time.monotonic()
    async with environment.activator() as activator:
        task = asyncio.create_task(activator.activate("sleepy"))
        await anyio.sleep(0.1)
    with pytest.raises(PluginError, match="it was stopped"):
        await task
    assert time.monotonic() - began < 2
