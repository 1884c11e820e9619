"""The laws of a backend whose hosts die: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
import pytest

from pegboard.contracts.store import Store
from pegboard.contracts.turn import Incoming
from pegboard.testing.contracts.backend_run import CALLS, NotedTurns, broken
from pegboard.testing.contracts.backend_suite import (
    MAX_ATTEMPTS,
    BackendSuite,
    incoming,
    served,
    took_all,
    until,
)
from pegboard.testing.contracts.backend_worker import DEATH, Log, Noted, Order

VERBS: Final = ("ingest", "begin", "intend", "record", "reply", "sending", "sent", "finish")
KEYS: Final = ("a", "b")
Start = Callable[..., subprocess.Popen[bytes]]


class DeathLaws(BackendSuite):
    """A host that is killed, or stopped for a while, at any moment."""

    @pytest.mark.parametrize("when", ["before", "after"])
    @pytest.mark.parametrize("verb", VERBS)
    async def test_a_host_may_die_at_any_write(self, tmp_path: Path, verb: str, when: str) -> None:
        """The next one ends every turn in order; no call that was recorded is made again."""
        messages = _messages(2)
        log = Log(tmp_path / "log")
        with self._workers(tmp_path) as start:
            worker = start(messages=messages, die=(verb, when, 2))
            assert await _exit(worker) == DEATH, f"it did not die {when} {verb}"
        received = [noted[1:3] for noted in log.read() if noted[0] == "received"]
        async with self.opened(tmp_path) as (store, engine):
            # what a channel was not told is received it sends again, and a careless one all of it
            again = await took_all(store, messages)
            assert {(item.ref.key, item.ref.seq) for item in again if item.duplicate} >= set(
                received
            ), "what was received is lost"
            async with served(engine, NotedTurns(store, log.note)):
                await until(lambda: _ended(store), "the end of the turns")
            doubtful = await store.doubtful()
            assert {await _state(store, message) for message in messages} == {"done"}
        noted = log.read()
        assert broken(noted) == []
        assert _count(noted, "calling") <= len(messages) * len(CALLS) + len(KEYS)
        assert _count(noted, "sent") + len(doubtful) >= len(messages), "a reply is lost"
        if (verb, when) in (("sending", "after"), ("sent", "before")):
            assert doubtful, "nobody knows whether it was sent, and nobody says so"

    async def test_a_living_host_takes_over_from_a_dead_one(self, tmp_path: Path) -> None:
        """It was there all the time, and no one tells it that the other is gone."""
        messages, log = _messages(2), Log(tmp_path / "log")
        async with self.opened(tmp_path) as (store, engine):
            with self._workers(tmp_path) as start:
                worker = start(messages=messages, call_s=3600)
                await until(lambda: _count(log.read(), "calling") == len(KEYS), "two calls")
                async with served(engine, NotedTurns(store, log.note)):
                    await anyio.sleep(0.5)
                    assert _count(log.read(), "called") == 0, "it ran what a living host runs"
                    worker.kill()
                    await until(lambda: _ended(store), "the end of the turns")
            assert {await _state(store, message) for message in messages} == {"done"}
        assert broken(log.read()) == []

    async def test_a_host_that_stood_still_does_no_harm(self, tmp_path: Path) -> None:
        """Stopped in the middle of a call, and going on when it may have been given up."""
        messages, log = _messages(2), Log(tmp_path / "log")
        async with self.opened(tmp_path) as (store, engine):
            with self._workers(tmp_path) as start:
                worker = start(messages=messages, call_s=0.2)
                await until(lambda: _count(log.read(), "calling") == len(KEYS), "two calls")
                worker.send_signal(signal.SIGSTOP)
                async with served(engine, NotedTurns(store, log.note)):
                    await anyio.sleep(1)
                    worker.send_signal(signal.SIGCONT)
                    await until(lambda: _ended(store), "the end of the turns")
                assert await _exit(worker) == 0
            assert {await _state(store, message) for message in messages} == {"done"}
        assert broken(log.read()) == []

    async def test_a_turn_that_kills_its_host_is_given_up(self, tmp_path: Path) -> None:
        """After so many hosts it is dead; the turn behind it and all others are run."""
        messages, log = _messages(2), Log(tmp_path / "log")
        with self._workers(tmp_path) as start:
            codes = [
                await _exit(start(messages=messages, poison="a")) for _ in range(MAX_ATTEMPTS + 1)
            ]
        assert codes == [DEATH] * MAX_ATTEMPTS + [0]
        async with self.opened(tmp_path) as (store, _):
            states = [await _state(store, message) for message in messages]
        assert states == ["dead", "done", "done", "done"]
        assert broken(log.read()) == []

    async def test_what_several_hosts_receive_at_once_gets_one_turn(self, tmp_path: Path) -> None:
        """Three processes hand in the same four messages at the same time."""
        messages, log = _messages(2), Log(tmp_path / "log")
        with self._workers(tmp_path) as start:
            workers = [start(messages=messages, at_once=True, serve=False) for _ in range(3)]
            (tmp_path / "go").touch()
            assert [await _exit(worker) for worker in workers] == [0, 0, 0]
        noted = log.read()
        assert (_count(noted, "received"), _count(noted, "duplicate")) == (4, 8)
        async with self.opened(tmp_path) as (store, _):
            open_turns = await store.open_turns()
        assert sorted((ref.key, ref.seq) for ref in open_turns) == [
            (key, seq) for key in KEYS for seq in (1, 2)
        ]

    @contextmanager
    def _workers(self, folder: Path) -> Iterator[Start]:
        """Start processes on a backend; those that are left at the end are killed."""
        started: list[subprocess.Popen[bytes]] = []

        def start(*, messages: Sequence[Incoming], **more: Any) -> subprocess.Popen[bytes]:
            order = Order(
                file=inspect.getfile(type(self)),
                suite=type(self).__name__,
                folder=str(folder),
                log=str(folder / "log"),
                messages=tuple(asdict(message) for message in messages),
                **more,
            )
            argv = [sys.executable, "-m", "pegboard.testing.contracts.backend_worker"]
            env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            started.append(subprocess.Popen([*argv, order.to_json()], env=env))
            return started[-1]

        try:
            yield start
        finally:
            for process in started:
                process.kill()
                process.wait()


def _messages(each: int) -> list[Incoming]:
    return [incoming(key, f"{key}{number}") for number in range(each) for key in KEYS]


async def _exit(process: subprocess.Popen[bytes]) -> int:
    return await anyio.to_thread.run_sync(process.wait)


async def _ended(store: Store) -> bool:
    return not await store.open_turns()


async def _state(store: Store, message: Incoming) -> str:
    record = await store.turn(message.turn)
    assert record is not None, f"the turn of {message.message['text']} is lost"
    return record.state


def _count(noted: Sequence[Noted], what: str) -> int:
    return sum(1 for item in noted if item[0] == what)
