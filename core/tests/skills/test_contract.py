"""A folder of skills keeps the laws of a skill source."""

from __future__ import annotations

from pathlib import Path

from pegboard import SkillSource
from pegboard.skills.folder import FolderSkills
from pegboard.testing import SkillSourceContract


class TestFolderSkills(SkillSourceContract):
    def make_source(self, folder: Path) -> SkillSource:
        for name in ("beta", "group/alpha"):
            skill = folder / "skills" / name
            skill.mkdir(parents=True, exist_ok=True)
            front = f"---\nname: {skill.name}\ndescription: Use it: always\n---\n"
            (skill / "SKILL.md").write_text(front + "Do it.\n")
        return FolderSkills(folder / "skills")
