from __future__ import annotations

import click
import pytest

from pegboard.cli.lazy_group import LazyGroup
from pegboard.cli.root import root
from pegboard.contracts.errors import UsageError


def _groups() -> list[LazyGroup]:
    ctx = click.Context(root, info_name="pegboard")
    inner = [
        command
        for name in root.lazy
        if isinstance(command := root.get_command(ctx, name), LazyGroup)
    ]
    return [root, *inner]


@pytest.mark.parametrize("group", _groups(), ids=lambda group: group.name)
def test_the_summary_in_the_list_is_how_the_commands_own_help_begins(group: LazyGroup):
    ctx = click.Context(group, info_name=group.name)
    for name, (_, summary) in group.lazy.items():
        command = group.get_command(ctx, name)
        assert command is not None
        assert (command.help or "").replace("\n", " ").startswith(summary.removesuffix("."))


@pytest.mark.parametrize("group", _groups(), ids=lambda group: group.name)
def test_a_misspelt_command_is_an_error_with_a_suggestion(group: LazyGroup):
    ctx = click.Context(group, info_name="pegboard")
    name = next(iter(group.lazy))
    with pytest.raises(UsageError) as caught:
        group.unknown(ctx, f"{name}x")
    assert caught.value.fix == f"pegboard {name}"


@pytest.mark.parametrize(
    ("group", "name", "meant"),
    [
        ("models", "usage", "pegboard usage"),
        ("models", "doctor", "pegboard doctor"),
        ("sessions", "status", "pegboard status"),
        ("models", "lst", "pegboard models list"),
        ("models", "usagee", "pegboard models --help"),
    ],
)
def test_a_command_that_the_program_has_is_told(group: str, name: str, meant: str):
    program = click.Context(root, info_name="pegboard")
    command = root.get_command(program, group)
    assert isinstance(command, LazyGroup)
    with pytest.raises(UsageError) as caught:
        command.unknown(click.Context(command, parent=program, info_name=group), name)
    assert caught.value.fix == meant
    elsewhere = " " not in meant.removeprefix("pegboard ")
    assert caught.value.message.endswith(f" Did you mean: {meant}") is elsewhere
