"""The suite of probes itself: it counts right, and a sandbox that claims too much does not pass."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pegboard.contracts.effects import ALL_EFFECTS
from pegboard.contracts.sandbox import (
    Command,
    Completed,
    OutputSink,
    SandboxInfo,
    SandboxReport,
    SandboxSpec,
)
from pegboard.sandboxes import (
    GrantTable,
    Launch,
    SandboxFiles,
    command_environment,
    run_process,
)
from pegboard.testing.contracts.sandbox_probes import (
    ALLOWED,
    ATTACKS,
    PROGRAM,
    WORKS,
    Probed,
    SandboxProbes,
    overstated,
    probe,
)

pytestmark = pytest.mark.anyio
NAMES = [name for names in ATTACKS.values() for name in names]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Open(SandboxFiles):
    """A sandbox that confines nothing, and says what it likes."""

    info = SandboxInfo(id="open", confines_commands=True)

    def __init__(self, spec: SandboxSpec, says: str) -> None:
        super().__init__(GrantTable.open(spec), ALL_EFFECTS)
        self.workspace = spec.workspace
        self.says = says

    async def run(self, command: Command, *, on_output: OutputSink | None = None) -> Completed:
        launch = Launch(
            argv=tuple(command.argv), cwd=str(self.workspace), env=command_environment()
        )
        return await run_process(launch, command, on_output=on_output)

    def explain(self) -> SandboxReport:
        kinds = ("fs_read", "fs_write", "net", "signals", "pids", "tree_kill")
        return SandboxReport(sandbox="open", enforced=dict.fromkeys(kinds, self.says), grants=())

    async def aclose(self) -> None:
        self.table.close()


class Backend:
    info = Open.info

    def __init__(self, says: str) -> None:
        self.says = says

    async def probe(self) -> str | None:
        return None

    async def open(self, spec: SandboxSpec) -> Open:
        return Open(spec, self.says)


def suite(says: str, allowed: frozenset[str] | None) -> SandboxProbes:
    made = SandboxProbes()
    made.make_backend = lambda: Backend(says)  # type: ignore[method-assign]
    made.allowed = allowed
    return made


def test_there_are_43_and_each_belongs_somewhere() -> None:
    text = PROGRAM.read_text()
    assert text.count("\n@attempt\n") == 43
    assert len(NAMES) == len(set(NAMES)) == 39
    for name in (*NAMES, *WORKS):
        assert f"\n@attempt\ndef {name}() -> None:\n" in text


def test_figures_count_attacks_alone() -> None:
    ended = dict.fromkeys((*NAMES, *WORKS), "EPERM") | dict.fromkeys(WORKS, ALLOWED)
    assert Probed(ended, {}, False).figure("x") == "x: 39 attacks tried, 39 held"
    ended |= {"chmod_outside": ALLOWED}
    figure = Probed(ended, {}, False).figure("x")
    assert figure == "x: 39 attacks tried, 38 held; let through: chmod_outside"


def test_a_claim_is_held_against_what_was_let_happen() -> None:
    allowed = frozenset({"chmod_outside", "open_a_vsock"})
    claimed = {"fs_write": "yes", "net": "partial"}
    assert overstated(claimed, allowed) == {"fs_write": ["chmod_outside"]}  # type: ignore[arg-type]
    assert overstated({"fs_write": "no"}, allowed) == {}


async def test_a_sandbox_that_confines_nothing_lets_nearly_all_happen(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    box = await Backend("no").open(SandboxSpec(workspace=tmp_path / "ws"))
    probed = await probe(box, tmp_path)
    assert {"write_outside", "read_a_secret_outside", "signal_another_process"} <= probed.allowed
    assert probed.allowed >= WORKS
    assert probed.changed
    assert probed.seen["processes"] > 2
    assert (probed.seen["capabilities"] != "0" * 16) == (os.getuid() == 0)
    await box.aclose()


async def test_it_does_not_pass_by_saying_that_it_does(tmp_path: Path) -> None:
    told: list[object] = []

    def tell(name: str, text: object) -> None:
        told.append(text)

    for number, (says, allowed) in enumerate((("no", WORKS), ("yes", None))):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(AssertionError, match="write_outside"):
            await suite(says, allowed).test_each_attack_ends_as_it_is_known_to(folder, tell)
    honest = tmp_path / "honest"
    honest.mkdir()
    await suite("no", None).test_each_attack_ends_as_it_is_known_to(honest, tell)
    assert [str(text).partition(",")[0] for text in told] == ["open", "open", "open"]
