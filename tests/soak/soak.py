"""Let hosts answer while they are killed and stopped at random (`make soak`).

Three workers on one store hand in numbered messages and answer them. Again and again one is killed
with `kill -9` and replaced, or is stopped (SIGSTOP), replaced, and goes on later (SIGCONT) beside
the one in its place. Half of those that are stopped are declared dead meanwhile, as a host is whose
lock was lost: others then take over what it runs, and when it wakes up only the fence keeps it from
doing it again.

The last line is the judgement of `checker.py`; the exit status is 1 unless it is good.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from checker import Verdict, judge, summary

WORKER = Path(__file__).with_name("worker.py")
ENGINES = ("embedded",)
SLOTS = 3
CHATS = 4
"""Chats of each worker."""
PAUSE_S = 0.6
"""Seconds between two messages of a chat."""
TROUBLE_S = (0.4, 0.9)
"""Seconds between two strokes, at least and at most."""
ASLEEP_S = (0.1, 0.6)
"""Seconds that a worker is stopped for after the one in its place has begun to work."""
LONGEST_SLEEP_S = 4.0
"""It may hold the write lock of the store, so that nobody else can begin."""
AWAKE_S = 1.0
"""Seconds that a worker that was stopped has beside the one in its place, before it is killed."""
MOST_WORKERS = 1000
"""When as many were started, one that never gets to work is a fault of its own."""
TURNS_A_SECOND, KILLS_A_SECOND = 10, 0.5
"""What a soak must have seen at least to prove anything."""


@dataclass(slots=True)
class Worker:
    """A process, and the chats whose messages it hands in."""

    name: str
    process: subprocess.Popen[bytes]
    chats: list[str]


@dataclass(slots=True)
class Sleeper:
    """A worker that was stopped and replaced.

    Args:
        worker: Which one.
        heir: The one in its place.
        asleep_s: Seconds that it sleeps for once its heir works.
        latest: When it goes on in any case.
        wakes: When it goes on, once that is known.
        dies: When it is killed, once it is awake.
    """

    worker: Worker
    heir: Worker
    asleep_s: float
    latest: float
    wakes: float = math.inf
    dies: float = math.inf


@dataclass(slots=True)
class Soak:
    """One run.

    Args:
        folder: An empty folder.
        seconds: How long messages come in.
        seed: What the chances follow.
        stopped: Share of the strokes that stop a worker; the others kill it.
        declared_dead: Share of those stopped that are declared dead.
        aimed: True to strike only while the worker looks something up.
        drain_s: Seconds that all may take to be answered once nobody disturbs any more.
        environment: Further variables for the workers.
    """

    folder: Path
    seconds: float
    seed: int
    stopped: float = 0.4
    declared_dead: float = 0.6
    aimed: bool = False
    drain_s: float = 90.0
    environment: dict[str, str] = field(default_factory=dict)
    _workers: list[Worker] = field(default_factory=list)
    _asleep: list[Sleeper] = field(default_factory=list)
    _made: int = 0
    _started: float = 0.0

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def run(self) -> Verdict:
        """Run it to its end, and return what the log says."""
        chance = random.Random(self.seed)
        self.log.touch()
        with self._ending():
            self._started = time.monotonic()
            for slot in range(SLOTS):
                self._workers.append(self._start([f"chat{slot}x{n}" for n in range(CHATS)]))
            while time.monotonic() < self._started + self.seconds:
                self._wait(chance.uniform(*TROUBLE_S))
                slot = chance.choice(self._ready())
                worker = self._workers[slot]
                if self.aimed:
                    self._aim(worker)
                if chance.random() < self.stopped:
                    self._workers[slot] = self._put_to_sleep(worker, chance)
                else:
                    self._kill(worker)
                    self._workers[slot] = self._start(worker.chats)
            while self._asleep:
                self._wait(0.05)
            self._drain()
        return judge(self.lines())

    def lines(self) -> list[str]:
        """Return the log."""
        return self.log.read_text("utf-8").splitlines()

    def _ready(self) -> list[int]:
        """Return the places of the workers that have begun to work; waits until there is one."""
        while True:
            lines = set(self.lines())
            ready = [n for n, w in enumerate(self._workers) if f"ready {w.name}" in lines]
            if ready:
                return ready
            self._revive()
            self._wait(0.05)

    def _revive(self) -> None:
        """Start anew what ended by itself, as whatever watches over a host does.

        One that finds the store locked for too long, by a worker that was stopped while it wrote,
        says so and ends.
        """
        for slot, worker in enumerate(self._workers):
            if worker.process.poll() is not None:
                self._note(f"ended {worker.name}")
                if self.lines().count(f"ready {worker.name}") == 0 and self._made > MOST_WORKERS:
                    raise RuntimeError(f"no worker starts; see {self.folder}")
                self._workers[slot] = self._start(worker.chats)

    def _aim(self, worker: Worker) -> None:
        """Wait until a worker begins to look something up, or has nothing to do."""
        line, end = f"in {worker.name} look", time.monotonic() + LONGEST_SLEEP_S
        before = self.lines().count(line)
        while self.lines().count(line) == before and time.monotonic() < end:
            self._wait(0.01)

    def _start(self, chats: list[str]) -> Worker:
        self._made += 1
        name = f"w{self._made}"
        times = (self._started, self.seconds, PAUSE_S)
        errors = (self.folder / f"{name}.err").open("wb")
        with errors:
            process = subprocess.Popen(
                [sys.executable, WORKER, self.folder, name, *map(str, times), *chats],
                env=_environment() | self.environment,
                stdout=errors,
                stderr=errors,
            )
        return Worker(name, process, chats)

    def _kill(self, worker: Worker) -> None:
        worker.process.kill()
        worker.process.wait()
        self._note(f"kill {worker.name}")

    def _put_to_sleep(self, worker: Worker, chance: random.Random) -> Worker:
        """Stop a worker, and return the one that is started in its place."""
        worker.process.send_signal(signal.SIGSTOP)
        self._note(f"stop {worker.name}")
        if chance.random() < self.declared_dead:
            hosts = self.folder / "home" / "state" / "hosts"
            for lock in hosts.glob(f"{worker.process.pid}-*.lock"):
                lock.unlink()
                self._note(f"declare-dead {worker.name}")
        heir = self._start(worker.chats)
        latest = time.monotonic() + LONGEST_SLEEP_S
        self._asleep.append(Sleeper(worker, heir, chance.uniform(*ASLEEP_S), latest))
        return heir

    def _wait(self, seconds: float) -> None:
        """Wait, and do with those that sleep what is due meanwhile."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._asleep:
                lines = set(self.lines())
                for sleeper in list(self._asleep):
                    self._tend(sleeper, lines, time.monotonic())
            time.sleep(0.02)

    def _tend(self, sleeper: Sleeper, lines: set[str], now: float) -> None:
        if sleeper.wakes == math.inf and f"ready {sleeper.heir.name}" in lines:
            sleeper.wakes = now + sleeper.asleep_s
        if sleeper.dies == math.inf and now >= min(sleeper.wakes, sleeper.latest):
            sleeper.dies = now + AWAKE_S
            self._note(f"continue {sleeper.worker.name}")
            sleeper.worker.process.send_signal(signal.SIGCONT)
        elif now >= sleeper.dies:
            self._asleep.remove(sleeper)
            self._kill(sleeper.worker)

    def _drain(self) -> None:
        """Let workers that nobody disturbs end what there is to do."""
        for slot, worker in enumerate(self._workers):
            self._kill(worker)
            self._workers[slot] = self._start(worker.chats)
        wanted = SLOTS * CHATS * int(self.seconds / PAUSE_S)
        end = time.monotonic() + self.drain_s
        while time.monotonic() < end:
            lines = self.lines()
            got = [line.split() for line in lines]
            received = {tuple(words[1:3]) for words in got if words[0] == "received"}
            sent = {tuple(words[1:3]) for words in got if words[0] == "sent"}
            if len(received) >= wanted and received <= sent:
                return
            self._revive()
            time.sleep(0.2)

    def _note(self, line: str) -> None:
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"{line}\n")

    @contextmanager
    def _ending(self) -> Iterator[None]:
        try:
            yield
        finally:
            for worker in (*self._workers, *(sleeper.worker for sleeper in self._asleep)):
                worker.process.kill()
                worker.process.wait()


def _environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith("PEGBOARD")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--engine", choices=ENGINES, default="embedded")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    soak = Soak(folder, options.seconds, options.seed)
    print(f"engine {options.engine}, seed {options.seed}, {options.seconds:g} s", flush=True)
    verdict = soak.run()
    counts = summary(soak.lines())
    print(
        f"stopped {counts['stop']}, of them declared dead {counts['declare-dead']}; ended by"
        f" themselves {counts['ended']}; reads run again {counts['read again']}; payments in doubt"
        f" {counts['payments in doubt']}"
    )
    enough = verdict.turns >= TURNS_A_SECOND * options.seconds
    enough = enough and verdict.kills >= KILLS_A_SECOND * options.seconds
    for what in (*verdict.lost, *verdict.out_of_order, *verdict.twice):
        print(what)
    if not enough:
        print("too few turns or kills to prove anything")
    good = verdict.good and enough
    if good:
        shutil.rmtree(folder)
    else:
        print(f"the log and what the workers said are in {folder}")
    print(verdict)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
