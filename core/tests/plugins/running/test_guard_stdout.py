from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest


def run(code: str, **options) -> subprocess.CompletedProcess[str]:
    head = "import os, sys, threading\nfrom pegboard.plugins.running.guard_stdout import *\n"
    return subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        **options,
    )


def test_the_hosts_words_and_no_others_reach_standard_output():
    done = run(
        """
        import asyncio, click, subprocess
        divert_stdout()
        divert_stdout()  # twice is once
        print("print")
        click.echo("click")
        sys.stdout.buffer.write(b"buffer\\n"); sys.stdout.buffer.flush()
        os.write(1, b"- os.write\\n")
        os.system("echo '- child'")
        with quiet("noisy"):
            print("- quiet")
            click.echo("- quiet click")
        threading.Thread(target=print, args=("- stranger",)).start()
        async def main():
            print("task")
            await asyncio.to_thread(print, "worker")
            await asyncio.create_task(asyncio.to_thread(print, "child task"))
        asyncio.run(main())
        """
    )
    assert done.stdout.split("\n") == [
        "print", "click", "buffer", "task", "worker", "child task", "",
    ]  # fmt: skip
    for words in ("os.write", "child", "quiet", "quiet click", "stranger"):
        assert f"- {words}\n" in done.stderr


def test_a_flood_is_cut_and_the_next_block_is_heard_again():
    done = run(
        """
        divert_stdout()
        with quiet("noisy"):
            for _ in range(30_000):
                print("flood")
        with quiet("noisy"):
            print("again")
        """
    )
    assert done.stdout == ""
    assert "[noisy: further output is dropped]" in done.stderr
    assert done.stderr.endswith("again\n")
    assert len(done.stderr) < 66_000


def test_what_is_not_diverted_is_left_alone():
    done = run('with quiet("x"):\n    print("plain")')
    assert done.stdout == "plain\n"


@pytest.mark.parametrize(
    "deed",
    [
        "sys.stdout.close()",
        "sys.stdout.buffer.write(b'noise'); sys.stdout.buffer.flush()",
        "sys.stdout = None",
        "sys.stdout = io.StringIO()",
        "os.write(1, b'noise')",
        "sys.stderr.close()",
        "sys.stderr = None",
    ],
)
def test_what_an_import_does_to_the_streams_is_undone(deed):
    done = run(
        f"""
        import io, threading

        def work():
            with kept_streams(), quiet("odd"):
                {deed}

        divert_stdout()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        print("an answer", flush=True)
        print("a warning", file=sys.stderr)
        """
    )
    assert (done.returncode, done.stdout) == (0, "an answer\n")
    assert done.stderr.endswith("a warning\n")


def test_which_stream_had_to_be_mended_is_told():
    done = run(
        """
        import io
        with kept_streams() as mended:
            sys.stdout = io.StringIO()
        print(mended)
        """
    )
    assert done.stdout == "['stdout']\n"


def test_the_stream_is_what_programs_expect_of_a_stream():
    done = run(
        """
        before = sys.stdout
        divert_stdout()
        out = sys.stdout
        sys.stdout.writelines(["a", "b", "\\n"])
        same = (out.encoding, out.errors) == (before.encoding, before.errors)
        print(out.isatty(), out.writable(), same, out.fileno() > 2)
        try:
            out.write(b"bytes")
        except TypeError as error:
            print(error)
        """
    )
    assert done.stdout.splitlines() == [
        "ab",
        "False True True True",
        "write() takes str, not bytes",
    ]


def test_importing_the_guard_is_light():
    done = run("print([m for m in ('asyncio', 'anyio', 'pydantic') if m in sys.modules])")
    assert done.stdout == "[]\n"


def test_what_a_hook_prints_does_not_mix_with_the_hosts_words():
    done = run(
        """
        import anyio
        from pathlib import Path
        from pegboard.contracts.hook_events import HostStopping
        from pegboard.plugins.running.hook_table import HookTable
        from pegboard.plugins.discovery.manifest import Manifest
        from pegboard.plugins.discovery.scan import FoundPlugin
        from pegboard.plugins.decision.state import PluginRecord, State
        async def resolve(plugin_id, hook):
            return lambda event: print("- from a hook")
        found = FoundPlugin("a", "x:y", "a", "1", Path())
        record = PluginRecord(found, Manifest("a", hooks={"pegboard_event": ()}), State.READY)
        async def main():
            await HookTable([record], resolve).observe(HostStopping())
            print("done")
        divert_stdout()
        anyio.run(main)
        """
    )
    assert (done.stdout, done.stderr) == ("done\n", "- from a hook\n")
