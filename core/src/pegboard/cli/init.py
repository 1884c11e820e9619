"""`pegboard init`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

from pegboard.cli.output import GOOD
from pegboard.cli.session import Session, json_option
from pegboard.config.paths import make_private
from pegboard.config.schema import CORE_SCHEMA

_HEAD: Final = """\
# Settings of Pegboard. Every line is optional; what is commented out shows the default.
# Check them with: pegboard config check. All keys: pegboard config schema
"""
_WIDTH: Final = 100


@click.command("init")
@json_option
@click.pass_obj
def command(session: Session) -> None:
    """Create the config file and the private folders; what exists is left as it is."""
    paths = session.paths
    made: list[str] = []
    for folder in (paths.config, paths.state, paths.data, paths.cache):
        if not folder.exists():
            make_private(folder)
            made.append(str(folder))
    if _create(paths.config_file, config_text(CORE_SCHEMA)):
        made.append(str(paths.config_file))
    if session.output.json_wanted:
        session.output.json({"created": made, "config": str(paths.config_file)})
        return
    for path in made:
        session.output.line(f"Created {path}", GOOD)
    if not made:
        session.output.line(f"Everything is there already: {paths.config_file}")
    session.output.line()
    session.output.line("Next:")
    session.output.line("  pegboard plugins list                    what is installed")
    session.output.line("  pegboard doctor                          what is still missing")
    session.output.line(
        "  pegboard completion bash >> ~/.bashrc    complete commands (or zsh, fish)"
    )


def _create(file: Path, text: str) -> bool:
    """Write a new file that only its owner can read; False when it exists already."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    return True


def config_text(schema: Mapping[str, Any]) -> str:
    """Return a config file in which every key is explained and commented out."""
    return "\n".join([_HEAD, *_sections(schema)]) + "\n"


def _sections(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, about in schema.get("properties", {}).items():
        yield from _comment(about.get("description", ""))
        yield f"# [{name}]"
        for key, facts in about.get("properties", {}).items():
            yield from _comment(facts.get("description", ""))
            yield f"# {key} = {_toml(facts.get('default'))}".rstrip()
        yield ""


def _comment(text: str) -> Iterator[str]:
    from textwrap import wrap

    for line in wrap(text, _WIDTH - 4):
        yield f"#   {line}"


def _toml(value: Any) -> str:
    import tomlkit

    return "..." if value is None else tomlkit.item(value).as_string()
