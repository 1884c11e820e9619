"""Take out each condition of a package in turn and run its tests: `make mutate`.

What no test notices is a survivor, and the exit status is 1 while there is one: the condition does
nothing, or nothing shows that it does. Each mutant runs in a process that is forked from one which
has loaded the libraries already, with the changed module in memory; no file is written.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, ModuleType

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from equivalent import EQUIVALENT  # noqa: E402
from mutants import Mutant, mutants  # noqa: E402

CPU_S = 120
WAITS_S = 600
"""A mutant that takes longer runs in circles, or waits for what never comes: it was noticed too."""
SLOWER = 5
LEAST_S = 1.0
"""A test may take so many times what it took with nothing changed, and at least so long."""
MEMORY = 3 << 30
"""Bytes: what runs in circles may also grow."""
LIBRARIES = ("pytest", "_pytest.python", "hypothesis", "anyio.pytest_plugin", "jsonschema_rs")
"""Loaded before anything is forked; nothing of the package may be among them."""
SURVIVED = 0
LOST = 99
A_FEW = 12


@dataclass(frozen=True)
class Suite:
    """A package and the tests that hold it.

    Args:
        package: Import name.
        folder: Its source.
        tests: Folder of its tests.
        equivalent: Key of a mutant that changes nothing -> why not.
    """

    package: str
    folder: Path
    tests: Path
    equivalent: Mapping[str, str] = field(default_factory=dict)

    def modules(self, only: Collection[str] = ()) -> list[Path]:
        """Return the files to change; of all when none is named."""
        found = sorted(self.folder.glob("*.py"))
        return [path for path in found if not only or path.stem in only]


@dataclass(frozen=True)
class Reached:
    """What the tests of a suite do while nothing is changed.

    Args:
        seconds: Id of each test -> how long it takes.
        files: Id of each test -> its file.
        tests: File and function -> ids of the tests that call it.
    """

    seconds: Mapping[str, float]
    files: Mapping[str, str]
    tests: Mapping[tuple[str, str], frozenset[str]]

    def by(self, mutant: Mutant) -> list[list[str]]:
        """Return the tests that can notice a mutant, in groups that are run one after the other.

        First those of the module's own file, or a few quick ones: they notice most, and few files
        have to be read. What runs when the module is imported can be noticed by any test.
        """
        found = self.tests.get((str(mutant.path), mutant.place))
        ranked = sorted(self.seconds if found is None else found, key=self.seconds.__getitem__)
        own = f"test_{mutant.path.stem}.py"
        first = [test for test in ranked if Path(self.files[test]).name == own] or ranked[:A_FEW]
        groups = [first, [test for test in ranked if test not in set(first)]]
        return [group for group in groups if group]


@dataclass
class Result:
    """What became of the mutants of a suite."""

    killed: int = 0
    survivors: list[Mutant] = field(default_factory=list)
    allowed: list[Mutant] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """True when nothing survived that is not known to change nothing."""
        return not self.survivors and not self.stale


def run(suite: Suite, *, jobs: int, only: Collection[str] = (), loud: bool = True) -> Result:
    """Run every mutant of a suite, `jobs` at a time.

    Raises:
        SystemExit: When the tests fail with nothing changed.
    """
    for name in LIBRARIES:
        importlib.import_module(name)
    if suite.package in sys.modules:
        sys.exit(f"{suite.package} is loaded already, so that it can't be changed")
    found = [mutant for path in suite.modules(only) for mutant in mutants(path)]
    reached = _measured(suite)
    result = Result()
    for number, (mutant, code) in enumerate(_outcomes(suite, found, reached, jobs), start=1):
        if code != SURVIVED:
            result.killed += 1
        elif mutant.key in suite.equivalent:
            result.allowed.append(mutant)
        else:
            result.survivors.append(mutant)
            if loud:
                print(f"survived: {mutant}", flush=True)
        if loud and number % 50 == 0:
            print(f"{number} of {len(found)}", file=sys.stderr, flush=True)
    if not only:
        result.stale = sorted(set(suite.equivalent) - {mutant.key for mutant in result.allowed})
    return result


def _outcomes(
    suite: Suite, found: Sequence[Mutant], reached: Reached, jobs: int
) -> Iterator[tuple[Mutant, int]]:
    """Yield each mutant with the status of its tests, as they end."""
    running: dict[int, Mutant] = {}
    waiting = list(reversed(found))
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            running[_forked(partial(_tried, suite, mutant, reached))] = mutant
        process, status = os.wait()
        mutant, code = running.pop(process), os.waitstatus_to_exitcode(status)
        if code == LOST:
            sys.exit(f"tests that reach {mutant.place} are not found again")
        yield mutant, code


def _forked(work: Callable[[], int], *, cpu_s: int = CPU_S) -> int:
    """Do some work in a child whose status is what it returns; return the child's id."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.alarm(WAITS_S)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        code = work()
    finally:
        os._exit(code)


def _tried(suite: Suite, mutant: Mutant, reached: Reached) -> int:
    """Run the tests of a mutant up to the first that fails."""
    name = f"{suite.package}.{mutant.path.stem}".removesuffix(".__init__")
    sys.meta_path.insert(0, Changed(name, mutant.path, mutant.compiled()))
    importlib.import_module(name)  # before pytest, whose own finder comes first
    for tests in reached.by(mutant):
        files = sorted({reached.files[test] for test in tests})
        code = _tested([Chosen(tests, reached.seconds)], "-x", *files)
        if code != SURVIVED:
            return code
    return SURVIVED


def _measured(suite: Suite) -> Reached:
    """Run all tests with nothing changed and return what they reach.

    Raises:
        SystemExit: When they fail.
    """
    reading, writing = os.pipe()

    def measure() -> int:
        watch = Watch(suite.folder)
        code = _tested([watch], str(suite.tests))
        calls = [[*key, *ids] for key, ids in watch.calls.items()]
        with os.fdopen(writing, "w", encoding="utf-8") as stream:
            json.dump([watch.seconds, watch.files, calls], stream)
        return code

    process = _forked(measure, cpu_s=WAITS_S)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as stream:
        text = stream.read()
    if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) != SURVIVED:
        sys.exit(f"the tests in {suite.tests} fail with nothing changed")
    seconds, files, calls = json.loads(text)
    tests = {(file, place): frozenset(ids) for file, place, *ids in calls}
    return Reached(seconds, files, tests)


def _tested(plugins: Sequence[object], *options: str) -> int:
    from hypothesis import Phase, settings

    # the same examples for each mutant, and none searched for to show it to a person
    settings.register_profile(
        "mutation", derandomize=True, database=None, phases=[Phase.explicit, Phase.generate]
    )
    settings.load_profile("mutation")
    early = "ignore::pytest.PytestAssertRewriteWarning"  # what is loaded before pytest starts
    always = ["-q", "-p", "no:cacheprovider", "-W", early, f"--rootdir={ROOT}", "--tb=no"]
    return int(pytest.main([*always, *options], plugins=plugins))


class Watch:
    """Notes which functions of a folder each test calls, and how long it takes."""

    def __init__(self, folder: Path) -> None:
        self.seconds: dict[str, float] = {}
        self.files: dict[str, str] = {}
        self.calls: dict[tuple[str, str], set[str]] = {}
        self._folder = f"{folder}{os.sep}"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        test = _name(item)
        self.files[test] = str(item.path)

        reached: set[CodeType] = set()

        def called(frame: FrameType, event: str, argument: object) -> None:
            reached.add(frame.f_code)

        began = time.perf_counter()
        sys.settrace(called)  # told of calls only, for it traces none of them further
        try:
            return (yield)
        finally:
            sys.settrace(None)
            self.seconds[test] = time.perf_counter() - began
            for code in reached:
                if code.co_filename.startswith(self._folder):
                    place = code.co_qualname.replace(".<locals>", "")
                    self.calls.setdefault((code.co_filename, place), set()).add(test)


class Chosen:
    """Runs some tests, in the order given, none of them much longer than it took before."""

    def __init__(self, tests: Sequence[str], seconds: Mapping[str, float]) -> None:
        self._seconds = seconds
        self._place = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        chosen = [item for item in items if _name(item) in self._place]
        if not chosen and not session.testsfailed:
            os._exit(LOST)  # no test ran, which is neither to have noticed something nor not to
        items[:] = sorted(chosen, key=lambda item: self._place[_name(item)])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        # seconds of CPU, so that other work of the machine counts for nothing; the signal kills
        signal.setitimer(signal.ITIMER_PROF, LEAST_S + SLOWER * self._seconds[_name(item)])
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


def _name(item: pytest.Item) -> str:
    """Return what names a test whatever else is collected."""
    return f"{item.path}::{item.nodeid.partition('::')[2]}"


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module, as code that is in memory."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self._name, self._path, self._code = name, path, code

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        folder = [str(self._path.parent)] if self._path.stem == "__init__" else None
        return importlib.util.spec_from_file_location(
            fullname, self._path, loader=self, submodule_search_locations=folder
        )

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)


POLICY = Suite(
    package="pegboard.policy",
    folder=ROOT / "core" / "src" / "pegboard" / "policy",
    tests=ROOT / "core" / "tests" / "policy",
    equivalent=EQUIVALENT,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", metavar="MODULE", nargs="+", default=(), help="some modules of the package"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    started = time.monotonic()
    result = run(POLICY, jobs=given.jobs, only=given.only)
    for mutant in result.allowed:
        print(f"equivalent: {mutant}\n    {EQUIVALENT[mutant.key]}")
    for key in result.stale:
        print(f"no such survivor any more, take it from equivalent.py: {key}")
    report = {
        "killed": result.killed,
        "survivors": [mutant.key for mutant in result.survivors],
        "equivalent": [mutant.key for mutant in result.allowed],
    }
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build" / "mutation.json").write_text(json.dumps(report, indent=2) + "\n", "utf-8")
    print(
        f"{result.killed} mutants killed, {len(result.survivors)} survived, "
        f"{len(result.allowed)} known to be equivalent; {time.monotonic() - started:.0f} s"
    )
    return 0 if result.clean else 1


if __name__ == "__main__":
    sys.exit(main())
