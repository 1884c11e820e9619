"""Each law of `SkillSourceContract` fails for a source that breaks it."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from pegboard import SkillInfo, SkillSource
from pegboard.testing import SkillSourceContract

pytestmark = pytest.mark.anyio


class Folder:
    """A correct source: folders with a `SKILL.md`."""

    def __init__(self, folder: Path, names: tuple[str, ...] = ("alpha", "beta")) -> None:
        self.root = folder / "skills"
        for name in names:
            (self.root / name).mkdir(parents=True, exist_ok=True)
            (self.root / name / "SKILL.md").write_text(f"# {name}\n")

    async def skills(self) -> list[SkillInfo]:
        return [
            SkillInfo(name=path.name, description=f"When {path.name} is wanted", folder=path)
            for path in sorted(self.root.iterdir())
        ]

    async def read(self, name: str, file: str = "SKILL.md") -> str:
        folder = (self.root / name).resolve()
        path = (folder / file).resolve()
        if not name or not path.is_relative_to(folder) or folder.parent != self.root.resolve():
            raise KeyError(name)
        if not path.is_file():
            raise KeyError(file)
        return path.read_text()


class TestAFolder(SkillSourceContract):
    def make_source(self, folder: Path) -> SkillSource:
        return Folder(folder)


class Undescribed(Folder):
    async def skills(self) -> list[SkillInfo]:
        return [SkillInfo(name="alpha", description=" ")]


class TwoLines(Folder):
    async def skills(self) -> list[SkillInfo]:
        return [SkillInfo(name="alpha", description="one\ntwo")]


class Empty(Folder):
    async def skills(self) -> list[SkillInfo]:
        return []


class Unsorted(Folder):
    async def skills(self) -> list[SkillInfo]:
        return list(reversed(await super().skills()))


class Doubled(Folder):
    async def skills(self) -> list[SkillInfo]:
        return (await super().skills()) + (await super().skills())


class Unreadable(Folder):
    async def read(self, name: str, file: str = "SKILL.md") -> str:
        await super().read(name, file)
        return ""


class Other(Folder):
    async def read(self, name: str, file: str = "SKILL.md") -> str:
        return (await super().read(name, file)) + "more"


class Obliging(Folder):
    async def read(self, name: str, file: str = "SKILL.md") -> str:
        return "an answer to anything"


class Joining(Folder):
    """Joins paths and looks no further."""

    async def read(self, name: str, file: str = "SKILL.md") -> str:
        path = self.root / name / file
        if not path.is_file():
            raise KeyError(file)
        return path.read_text()


class NotFound(Folder):
    """Raises what the file system raises."""

    async def read(self, name: str, file: str = "SKILL.md") -> str:
        return (self.root / name / file).read_text()


BREAKS = [
    ("its_skills_are_described", Undescribed),
    ("its_skills_are_described", TwoLines),
    ("its_skills_are_described", Empty),
    ("names_are_unique_and_sorted", Unsorted),
    ("names_are_unique_and_sorted", Doubled),
    ("every_skill_is_read", Unreadable),
    ("every_skill_is_read", Other),
    ("an_unknown_skill_is_a_key_error", Obliging),
    ("an_unknown_skill_is_a_key_error", NotFound),
    ("no_file_outside_the_skill_is_read", Obliging),
    ("no_file_outside_the_skill_is_read", Joining),
    ("no_link_leads_out_of_the_skill", Joining),
]


@pytest.mark.parametrize(("law", "make"), BREAKS)
async def test_a_broken_source_fails_the_law(law: str, make: type[Folder], tmp_path: Path) -> None:
    class Suite(SkillSourceContract):
        def make_source(self, folder: Path) -> SkillSource:
            return make(folder)

    with pytest.raises((AssertionError, pytest.fail.Exception, OSError)):
        await getattr(Suite(), f"test_{law}")(tmp_path)


def test_every_law_is_seen_to_fail() -> None:
    laws = {
        name.removeprefix("test_")
        for name, _ in inspect.getmembers(SkillSourceContract, inspect.isfunction)
        if name.startswith("test_")
    }
    assert laws == {law for law, _ in BREAKS}
