"""Hosts that come, die and do things at random; what must hold for all of them together."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from pegboard.contracts.store import FencedError
from pegboard.contracts.turn import Begun
from pegboard.store.backup import check
from pegboard.store.embedded import open_store

pytestmark = pytest.mark.anyio

STEPS = 400
ATTEMPTS = 4


class World:
    """Three hosts on one store, and what has been seen of it."""

    def __init__(self, folder, make, seed):
        self.rng = random.Random(seed)
        self.folder = folder
        self.make = make
        self.hosts = []
        self.attempts = []  # (host, turn, fence), the latest last; also those of the dead
        self.fences = defaultdict(int)
        self.seqs = {}
        self.ended = []
        self.results = {}
        self.now = 100.0
        self.number = 0

    async def host(self):
        self.number += 1
        host = await open_store(self.folder, worker=f"host{self.number}")
        self.hosts.append(host)
        return host

    async def step(self):
        self.now += 1
        actions = (
            (self.ingest, 6),
            (self.begin, 10),
            (self.call, 6),
            (self.end, 5),
            (self.wait, 2),
            (self.wake, 2),
            (self.stop, 1),
            (self.anew, 0.3),
            (self.die, 1),
        )
        action = self.rng.choices([a for a, _ in actions], [w for _, w in actions])[0]
        await action(self.rng.choice(self.hosts))

    async def ingest(self, host):
        id = self.rng.randrange(len(self.seqs) + 2)  # often one that came before
        self.number += 1
        receipt = await host.ingest(
            self.make.incoming(f"t{self.number}", f"k{id % 3}", external_id=str(id), at=self.now)
        )
        assert receipt.duplicate == (str(id) in self.seqs)
        assert self.seqs.setdefault(str(id), receipt.ref) == receipt.ref

    async def begin(self, host):
        turns = await host.open_turns()
        if not turns:
            return
        turn = self.rng.choice(turns).turn
        begun = await host.begin(turn, now=self.now, max_attempts=ATTEMPTS)
        if isinstance(begun, Begun):
            fence = begun.turn.fence
            assert fence == self.fences[turn] + 1
            # nobody who lives has it
            assert not any(t == turn for h, t, _ in self.attempts if h in self.hosts)
            self.fences[turn] = fence
            self.attempts.append((host, turn, fence))
            for id, call in begun.calls.items():
                assert call.result == self.results.get((turn, id))
        elif begun.why == "dead":
            self.ended.append(turn)

    async def attempt(self):
        """Return an attempt of a living host, or an old one under the name of a living host."""
        if not self.attempts:
            return None
        host, turn, fence = self.rng.choice(self.attempts)
        return (host if host in self.hosts else self.rng.choice(self.hosts)), turn, fence

    async def fenced(self, attempt, verb):
        """Await a verb of an attempt; it is refused exactly when the attempt is an old one."""
        host, turn, fence = attempt
        record = await host.turn(turn)
        may = record.state == "running" and record.fence == fence
        try:
            await verb
        except FencedError:
            assert not may
            return False
        assert may
        return True

    async def call(self, host):
        attempt = await self.attempt()
        if attempt is None:
            return
        host, turn, fence = attempt
        id = self.rng.choice("abc")
        if await self.fenced(attempt, host.intend(turn, fence, [self.make.tool_call(id)])):
            result = {"by": fence, "at": self.now}
            if self.rng.random() < 0.6:
                await host.record(turn, fence, id, result)
                self.results.setdefault((turn, id), result)

    def over(self, attempt):
        _, turn, fence = attempt
        self.attempts = [a for a in self.attempts if a[1:] != (turn, fence)]

    async def end(self, host):
        attempt = await self.attempt()
        if attempt is None:
            return
        host, turn, fence = attempt
        state = self.rng.choice(("done", "failed", "cancelled"))
        if self.rng.random() < 0.2:
            ended = await self.fenced(attempt, host.release(turn, fence))
        else:
            ended = await self.fenced(attempt, host.finish(turn, fence, state=state, now=self.now))
            if ended:
                self.ended.append(turn)
        if ended:
            self.over(attempt)

    async def wait(self, host):
        attempt = await self.attempt()
        if attempt is None:
            return
        host, turn, fence = attempt
        until = self.rng.choice((None, self.now + 5, self.now))
        if await self.fenced(attempt, host.wait(turn, fence, until=until)):
            self.over(attempt)

    async def wake(self, host):
        for ref in await host.open_turns():
            await host.wake(ref.turn)

    async def stop(self, host):
        await host.ask_to_stop(f"k{self.rng.randrange(3)}")

    async def anew(self, host):
        await host.new_epoch(f"k{self.rng.randrange(3)}", now=self.now)

    async def die(self, host):
        host._workers.leave()
        await host.database.aclose()
        self.hosts.remove(host)
        await self.host()

    async def drain(self):
        """Let one host finish everything, once the others are dead."""
        for host in list(self.hosts):
            await self.die(host)
        last, *others = self.hosts
        for host in others:
            await host.aclose()
        self.hosts = [last]
        self.now += 1000
        for _ in range(10 * len(self.seqs)):
            turns = await last.open_turns()
            if not turns:
                break
            for ref in turns:
                await last.wake(ref.turn)
                begun = await last.begin(ref.turn, now=self.now, max_attempts=ATTEMPTS)
                if isinstance(begun, Begun):
                    state = "dead" if begun.given_up else "done"
                    await last.finish(ref.turn, begun.turn.fence, state=state, now=self.now)
                    self.ended.append(ref.turn)
                elif begun.why == "dead":
                    self.ended.append(ref.turn)
        return last


@pytest.mark.parametrize("seed", range(6))
async def test_nothing_is_lost_run_twice_or_out_of_order(tmp_path, make, seed):
    world = World(tmp_path, make, seed)
    for _ in range(3):
        await world.host()
    for _ in range(STEPS):
        await world.step()
    last = await world.drain()
    assert await last.open_turns() == []
    turns = {ref.turn: ref for ref in world.seqs.values()}
    states = {turn: (await last.turn(turn)).state for turn in turns}
    assert set(states.values()) <= {"done", "failed", "cancelled", "dead"}
    places = defaultdict(list)
    for turn in world.ended:
        places[turns[turn].key].append(turns[turn].seq)
    for key, seqs in places.items():
        assert len(seqs) == len(set(seqs)), f"{key}: a turn ended twice"
        assert seqs == sorted(seqs), key
    for (turn, id), result in world.results.items():
        assert (await last.begun(turn)).calls[id].result == result
    assert check(last.database.path).problems == ()
    await last.aclose()
