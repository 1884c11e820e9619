"""A process that works on a backend, so that the laws can kill it.

`python -m pegboard.testing.contracts.backend_worker ORDER`, where ORDER is a JSON object.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import anyio

from pegboard.contracts.engine import Backend, Engine
from pegboard.contracts.store import Store
from pegboard.contracts.turn import Incoming, TurnRef
from pegboard.testing.contracts.backend_run import NotedTurns
from pegboard.testing.contracts.backend_suite import CLOCK, took_all, until

Noted = tuple[str, str, int, str]
DEATH: Final = -signal.SIGTERM if sys.platform == "win32" else -signal.SIGKILL
"""The exit status of a process that ended as by `kill -9`."""
_FOREVER_S: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a process shall do.

    Args:
        file: The file of the suite.
        suite: Name of its class.
        folder: What to make the backend on.
        log: Where it notes what happens.
        messages: What comes in first, as the fields of `Incoming`.
        at_once: True when that comes all at one time, as soon as the file `go` is there.
        serve: True to run turns until none is open.
        call_s: Seconds that each call takes.
        die: Verb, `before` or `after`, and the how manieth time: where the process dies.
        poison: Key of the conversation whose first turn kills the process.
    """

    file: str
    suite: str
    folder: str
    log: str
    messages: tuple[dict[str, Any], ...] = ()
    at_once: bool = False
    serve: bool = True
    call_s: float = 0.0
    die: tuple[str, str, int] | None = None
    poison: str = ""

    def to_json(self) -> str:
        """Return the order as the argument of a process."""
        return json.dumps(asdict(self))


class Log:
    """An append-only file that several processes write to, a line each time.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def note(self, what: str, ref: TurnRef, name: str = "") -> None:
        """Write down what happens to a turn."""
        line = json.dumps([what, ref.key, ref.seq, name]) + "\n"
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)

    def read(self) -> Sequence[Noted]:
        """Return what was written down, in order."""
        if not self.path.exists():
            return ()
        lines = self.path.read_bytes().splitlines()
        return [cast("Noted", tuple(json.loads(line))) for line in lines]


class MortalStore:
    """A store whose process dies at one of its verbs.

    Args:
        store: The store.
        verb: The verb.
        when: `before` or `after` it has done its work.
        count: The how manieth time.
    """

    def __init__(self, store: Store, verb: str, when: str, count: int) -> None:
        self._store = store
        self._verb = verb
        self._when = when
        self._left = count

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        return partial(self._mortal, method) if name == self._verb else method

    async def _mortal(self, method: Any, *args: Any, **more: Any) -> Any:
        self._left -= 1
        last = self._left == 0
        if last and self._when == "before":
            die()
        result = await method(*args, **more)
        if last:
            die()
        return result


def die() -> None:
    """End this process at once, as `kill -9` does."""
    os.kill(os.getpid(), abs(DEATH))


def make_backend(order: Order) -> Backend:
    """Make the backend as the suite does."""
    spec = importlib.util.spec_from_file_location("suite_of_a_backend", order.file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    made = getattr(module, order.suite)().make_backend(Path(order.folder))
    return cast("Backend", made)


async def work(order: Order) -> None:
    """Do what is ordered."""
    backend = make_backend(order)
    opened, engine = await backend.open({}, CLOCK)
    store = cast("Store", MortalStore(opened, *order.die)) if order.die else opened
    log = Log(Path(order.log))
    await _take_in(order, store, engine, log)
    if order.serve:
        await _serve(order, store, engine, log)
    await backend.aclose()


async def _take_in(order: Order, store: Store, engine: Engine, log: Log) -> None:
    messages = [Incoming(**fields) for fields in order.messages]
    if order.at_once:
        go = Path(order.log).with_name("go")
        await until(go.exists, "the word to go")
        for receipt in await took_all(store, messages):
            log.note("duplicate" if receipt.duplicate else "received", receipt.ref)
        return
    for message in messages:
        receipt = await store.ingest(message)
        log.note("received", receipt.ref)
        await engine.submit(receipt.ref)


async def _serve(order: Order, store: Store, engine: Engine, log: Log) -> None:
    def note(what: str, ref: TurnRef, name: str) -> None:
        log.note(what, ref, name)
        if what == "calling" and ref.key == order.poison and ref.seq == 1:
            die()

    async def none_open() -> bool:
        return engine.stats().running == 0 and not await store.open_turns()

    async with anyio.create_task_group() as group:

        async def serve() -> None:
            await engine.serve(NotedTurns(store, note, call_s=order.call_s), slots=4)

        group.start_soon(serve)
        await until(none_open, "the end of the turns", limit_s=_FOREVER_S)
        group.cancel_scope.cancel()


if __name__ == "__main__":
    fields = json.loads(sys.argv[1])
    anyio.run(work, Order(**{**fields, "messages": tuple(fields["messages"])}))
