"""The laws of a skill source."""

from __future__ import annotations

from pathlib import Path

import pytest

from pegboard.contracts.skill import SkillSource
from pegboard.testing.contracts.suite import Suite, missing


class SkillSourceContract(Suite):
    """Laws that the catalogue of skills relies on.

    Subclass it and define `make_source`; the source must have at least one skill.
    """

    def make_source(self, folder: Path) -> SkillSource:
        """Return a fresh source; `folder` is empty and of its own."""
        missing(self, "make_source", "a SkillSource")

    async def test_its_skills_are_described(self, tmp_path: Path) -> None:
        """Each has a name and says in one line when to use it."""
        source = self.make_source(tmp_path)
        assert isinstance(source, SkillSource)
        found = await source.skills()
        assert found, "a source without skills proves nothing"
        for skill in found:
            assert skill.name.strip() == skill.name != ""
            assert skill.description.strip(), f"{skill.name} has no description"
            assert "\n" not in skill.description, f"the description of {skill.name} is not one line"

    async def test_names_are_unique_and_sorted(self, tmp_path: Path) -> None:
        """The catalogue is the same each time it is read."""
        source = self.make_source(tmp_path)
        names = [skill.name for skill in await source.skills()]
        assert names == sorted(set(names))
        assert names == [skill.name for skill in await source.skills()]

    async def test_every_skill_is_read(self, tmp_path: Path) -> None:
        """What the catalogue shows has a text, on this disk or not."""
        source = self.make_source(tmp_path)
        for skill in await source.skills():
            text = await source.read(skill.name)
            assert text.strip(), f"{skill.name} is empty"
            if skill.folder is not None:
                assert text == (skill.folder / "SKILL.md").read_text(encoding="utf-8")

    async def test_an_unknown_skill_is_a_key_error(self, tmp_path: Path) -> None:
        """No name of somebody else's, no empty one, and no path in its place."""
        source = self.make_source(tmp_path)
        for name in ("no-such-skill", "", ".", "..", "../outside"):
            with pytest.raises(KeyError):
                await source.read(name)

    async def test_no_file_outside_the_skill_is_read(self, tmp_path: Path) -> None:
        """A path that leaves the folder is no file, however it is written."""
        (tmp_path / "outside.md").write_text("kept")
        source = self.make_source(tmp_path)
        name = (await source.skills())[0].name
        outside = tmp_path / "outside.md"
        for file in (
            "no-such-file.md",
            "../outside.md",
            "../../outside.md",
            "a/../../outside.md",
            str(outside),
            "/etc/hosts",
            "",
            ".",
        ):
            with pytest.raises(KeyError):
                await source.read(name, file)

    async def test_no_link_leads_out_of_the_skill(self, tmp_path: Path) -> None:
        """A link in a skill's folder is judged by where it leads."""
        source = self.make_source(tmp_path)
        for skill in await source.skills():
            if skill.folder is None or not skill.folder.is_relative_to(tmp_path):
                continue  # not ours to write into
            (tmp_path / "outside.md").write_text("kept")
            (skill.folder / "link.md").symlink_to(tmp_path / "outside.md")
            with pytest.raises(KeyError):
                await source.read(skill.name, "link.md")
