"""Put the template of a plugin project into the wheel and the sdist of core.

The template lies in the repository's root, because copier can only follow changes from there. An
sdist carries it as `_template`, so that a wheel made from the sdist has it too. An editable install
reads it where it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TemplateHook(BuildHookInterface[Any]):
    """Adds `copier.yml` and `plugin-template/`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files to include; called before each build."""
        if version == "editable":
            return
        root = Path(self.root)
        places = (root / "_template", root.parent)
        found = [place for place in places if (place / "copier.yml").is_file()]
        if not found:
            raise FileNotFoundError(f"copier.yml is in none of: {', '.join(map(str, places))}")
        target = "pegboard/_template" if self.target_name == "wheel" else "_template"
        for name in ("copier.yml", "plugin-template"):
            build_data["force_include"][str(found[0] / name)] = f"{target}/{name}"
