from __future__ import annotations

from pathlib import Path

import pytest

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Command, Sandbox
from pegboard.sandboxes.missing import INSTALL, MissingSandbox

pytestmark = pytest.mark.anyio


async def test_every_way_to_a_file_or_a_command_says_what_to_install(tmp_path: Path) -> None:
    box: Sandbox = MissingSandbox(tmp_path).narrowed(frozenset({"read"}))
    assert isinstance(box, Sandbox)
    assert box.effects == {"read"}

    async def walk() -> None:
        _ = [item async for item in box.walk(".")]

    async def resolve() -> None:
        box.resolve("f")

    for work in (
        resolve,
        walk,
        lambda: box.read("f"),
        lambda: box.write("f", b""),
        lambda: box.stat("f"),
        lambda: box.list_dir("f"),
        lambda: box.make_dir("f"),
        lambda: box.remove("f"),
        lambda: box.rename("f", "g"),
        lambda: box.run(Command(argv=("true",))),
    ):
        with pytest.raises(SandboxError, match="no sandbox is installed") as caught:
            await work()
        assert caught.value.fix == INSTALL
    await box.aclose()


def test_it_explains_itself(tmp_path: Path) -> None:
    report = MissingSandbox(tmp_path, reason="bubblewrap does not work here", fix="x").explain()
    assert report.sandbox == "missing"
    assert report.notes[0].startswith("Bubblewrap does not work here: no tool can reach files")
